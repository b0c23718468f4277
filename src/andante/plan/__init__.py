"""At what cost: which nodes run which tasks, for the least money (source 4)."""

from andante.plan.file import File, read
from andante.plan.model import Costs, Node, NodeType, Plan, Problem, Resources, Task, Waiting
from andante.plan.planner import METHODS, Method, best, plan

__all__ = [
    "METHODS",
    "Costs",
    "File",
    "Method",
    "Node",
    "NodeType",
    "Plan",
    "Problem",
    "Resources",
    "Task",
    "Waiting",
    "best",
    "plan",
    "read",
]
