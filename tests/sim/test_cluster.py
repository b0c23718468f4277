"""Clusters in which things go wrong by a seed, and the checks that must hold whatever does."""

import hashlib
import os
import subprocess
import sys

import pytest

from andante.sim.faults import KINDS
from andante.sim.trial import attempt, draw_trial

SEEDS = 200
BLOCK = 10

FOUND = {
    186: "A node that waited for the members at its start was buried before its first report, and failed.",
    291: "Links in an answer that came late were queued again after the log, which had them, was read.",
    413: "What was said without an answer, or was being committed, when a node was buried was said again under its next epoch.",
    483: "A log that a full store refused to show was never read, and the crawl did not end.",
    718: "A report that came late, when the next one had been answered, was carried out again.",
}
"""Seeds that failed once, and why. What a seed stands for changes when the trials do: `REPLAYED` are those that still show it."""


@pytest.mark.parametrize("first", range(1, SEEDS + 1, BLOCK))
def test_whatever_goes_wrong_all_rules_hold(first):
    for seed in range(first, first + BLOCK):
        trial = draw_trial(seed)
        problems = attempt(trial).verdict.problems
        assert not problems, f"seed {seed}, {trial}, {[*map(str, trial.faults)]}: {problems}"


def test_the_seeds_have_faults_of_all_kinds_and_some_have_none():
    trials = [draw_trial(seed) for seed in range(1, SEEDS + 1)]
    assert {fault.kind for trial in trials for fault in trial.faults} == set(KINDS)
    assert any(not trial.faults for trial in trials)
    assert {trial.nodes for trial in trials} == {2, 3, 4}


def test_the_same_seed_the_same_trace_byte_for_byte():
    """Here, and in another process, where sets of strings have another order."""
    seeds = [17, 34, 46]
    traces = [attempt(draw_trial(seed)).trace for seed in seeds]
    assert traces == [attempt(draw_trial(seed)).trace for seed in seeds]
    assert len(set(traces)) == len(seeds)
    there = f"""
import hashlib
from andante.sim.trial import attempt, draw_trial
for seed in {seeds}:
    print(hashlib.sha256(attempt(draw_trial(seed)).trace).hexdigest())
"""
    done = subprocess.run(
        [sys.executable, "-c", there],
        env=os.environ | {"PYTHONHASHSEED": "12345"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [hashlib.sha256(trace).hexdigest() for trace in traces]
