"""The job on disk: its journal, its outputs, and how they stay true to each other."""

from andante.store.inspection import Inspection, has_met, inspect, is_running, series
from andante.store.job import Job
from andante.store.journal import Ended, JobError
from andante.store.rates import Rates, RatesFile

__all__ = [
    "Ended",
    "Inspection",
    "Job",
    "JobError",
    "Rates",
    "RatesFile",
    "has_met",
    "inspect",
    "is_running",
    "series",
]
