"""A job that may be read and not written: on a read-only file system, as of a backup, or another user's."""

import json
import shutil
import subprocess
import sys
from contextlib import closing

import pytest

from andante.cli import main
from andante.store.journal import Batch, Ended, Journal
from support.island import _unshare

_MOUNTED = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && ! touch "$0/x" && exec "$@"'


@pytest.fixture(params=["ended", "killed"])
def job(tmp_path, request):
    """A job that ended; or one that was killed, whose last commit is in the log beside its journal."""
    (tmp_path / "job").mkdir()
    with closing(Journal(tmp_path / "job" / "journal.sqlite")) as journal:
        journal.commit(
            Batch(ended=[Ended("http://a.example/", "failed", "reset")], meta={"stats": {}})
        )
        shutil.copytree(tmp_path / "job", tmp_path / "killed")
    assert (tmp_path / "killed" / "journal.sqlite-wal").stat().st_size
    return tmp_path / {"ended": "job", "killed": "killed"}[request.param]


def read_only(job, *arguments):
    """Run the command where the job's file system is read-only."""
    command = [sys.executable, "-m", "andante", *map(str, arguments)]
    return subprocess.run(
        [*_unshare(), "sh", "-c", _MOUNTED, job, *command],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_status_and_rates_of_a_job_that_may_not_be_written(job):
    for flags in ([], ["--speed"]):
        assert read_only(job, "status", job, *flags).returncode == 0
    told = json.loads(read_only(job, "status", job, "--json").stdout)
    assert (told["running"], told["queued"]) == (False, 0)
    assert read_only(job, "status", job, "--urls").stdout == "failed\treset\thttp://a.example/\t\n"
    assert read_only(job, "rate", job).stdout.startswith("each server ")
    assert not list(job.glob("rates*"))


def test_what_would_write_says_what_it_cannot(job):
    said = read_only(job, "rate", job, "5/s")
    assert said.returncode == 2
    assert said.stderr.endswith(f"andante: cannot write {job}/rates.json: Read-only file system\n")
    said = read_only(job, "crawl", "http://127.0.0.1:9/", "--job", job)
    assert said.returncode == 2
    assert said.stderr.endswith(f"andante: cannot write {job}/lock: Read-only file system\n")


def test_a_copy_that_lacks_what_is_wanted_to_read_it(job):
    """Its last commits are in the log, which cannot be read without writing."""
    (job / "journal.sqlite-shm").unlink(missing_ok=True)
    said = read_only(job, "status", job, "--urls")
    if (job / "journal.sqlite-wal").exists():
        assert said.returncode == 2
        assert "journal.sqlite-wal holds the last commits; copy the directory" in said.stderr
    else:
        assert said.stdout == "failed\treset\thttp://a.example/\t\n"


def test_what_cannot_be_read_is_not_damaged(tmp_path, capsys):
    (tmp_path / "journal.sqlite").mkdir()
    assert main(["status", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said == f"andante: cannot read {tmp_path}/journal.sqlite: Is a directory\n"
