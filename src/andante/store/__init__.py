"""The job on disk: its journal, its outputs, and how they stay true to each other."""

from andante.store.inspection import Inspection, inspect
from andante.store.job import Job
from andante.store.journal import Ended, JobError

__all__ = ["Ended", "Inspection", "Job", "JobError", "inspect"]
