"""Who is there, by a service that has an entry for each node and drops it when the node's session ends."""

from __future__ import annotations

from typing import Protocol


class Members(Protocol):
    """The nodes of one crawl, as one of them sees them.

    The service keeps a session with the node's process. Hearing nothing of it for `ttl` (or up to a tick of its clock longer) it ends the
    session, and the node's entry goes; the next `confirm` makes another. A process that lives but asks nothing for `ttl` is given up as well, within another `ttl`.

    All methods but `close` raise `UnreachableError` when there is no answer, or the session has ended; and `ClusterError` when the service refuses.
    """

    @property
    def ttl(self) -> float:
        """Seconds, as the service has granted them."""
        ...

    async def enter(self, epoch: int, about: str) -> None:
        """Enter the node. Where this raises `UnreachableError`, `confirm` tries again.

        Args:
            epoch: of the node; another one than before takes its place.
            about: for people: the node's name.
        """
        ...

    async def confirm(self) -> None:
        """Write to the node's entry, or make it anew; this returns when the service has acknowledged that. Several times in each `ttl`."""
        ...

    async def present(self) -> frozenset[int]:
        """Return the epochs of all nodes that have an entry: every change that came before the question is in the answer."""
        ...

    async def leave(self) -> None:
        """Remove the node's entry. From now on `confirm` makes none, whatever this raises."""
        ...

    async def close(self) -> None:
        """End the session, and with it the entry; takes a second at most. Never fails."""
        ...
