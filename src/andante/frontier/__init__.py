"""What next: which server is visited, and which of its URLs is fetched.

Two levels (Cao et al. 2003): each URL waits in the queue of its server; the servers stand in a queue of their own. What is chosen
is a server, for a *visit*: one connection that takes URLs from its queue.
"""

from andante.frontier.block import Block, Link
from andante.frontier.estimate import Estimate, Measured
from andante.frontier.frontier import Changes, Frontier, Growth, Task
from andante.frontier.policy import Policy
from andante.frontier.seen import Seen
from andante.frontier.server import Address, Server

__all__ = [
    "Address",
    "Block",
    "Changes",
    "Estimate",
    "Frontier",
    "Growth",
    "Link",
    "Measured",
    "Policy",
    "Seen",
    "Server",
    "Task",
]
