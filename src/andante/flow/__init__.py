"""How fast: set-points, connection limits, back-off. Pure: time and chance are arguments."""

from andante.flow.backoff import (
    PATIENCE,
    Again,
    Backoff,
    BackoffSettings,
    Sign,
    Trouble,
    Verdict,
    verdict,
)
from andante.flow.ceiling import Ceiling, Learnt
from andante.flow.knee import KneeLimit
from andante.flow.limit import AimdLimit, GradientLimit, Limit, RttLimit, VegasLimit
from andante.flow.pace import Pace
from andante.flow.pid import Pid
from andante.flow.sample import Sample
from andante.flow.shortfall import REASONS, Shortfall
from andante.flow.unloaded import Unloaded

__all__ = [
    "PATIENCE",
    "REASONS",
    "Again",
    "AimdLimit",
    "Backoff",
    "BackoffSettings",
    "Ceiling",
    "GradientLimit",
    "KneeLimit",
    "Learnt",
    "Limit",
    "Pace",
    "Pid",
    "RttLimit",
    "Sample",
    "Shortfall",
    "Sign",
    "Trouble",
    "Unloaded",
    "VegasLimit",
    "Verdict",
    "verdict",
]
