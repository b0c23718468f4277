"""What servers saw of a crawl: the access log of a `Site`, and what it says of the crawl's manners."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple


class Visit(NamedTuple):
    """A request and its answer, as the server saw it. Times are Unix time, to the millisecond."""

    began: float
    ended: float
    host: str
    address: str
    """The server's own."""
    client: str
    connection: int
    status: int
    size: int
    path: str

    @property
    def url(self) -> str:
        return f"http://{self.host}{self.path}"


class Stay(NamedTuple):
    """The requests of one connection to a host, from the beginning of the first to the end of the last."""

    began: float
    ended: float
    host: str
    """Or its address."""
    client: str
    visits: int


def read(lines: Iterable[str]) -> AccessLog:
    """Read the lines of a log; one that is not finished is left out."""
    visits = []
    for line in lines:
        if line.endswith("\n"):
            ended, took, host, address, client, connection, status, size, path = line.split("\t")
            visits.append(
                Visit(
                    round(float(ended) - float(took), 3),
                    float(ended),
                    host,
                    address,
                    client,
                    int(connection),
                    int(status),
                    int(size),
                    path.rstrip("\n"),
                )
            )
    return AccessLog(sorted(visits))


@dataclass(frozen=True)
class AccessLog:
    """All visits, by the time they began."""

    visits: list[Visit]

    def statuses(self) -> Counter[int]:
        """Count the answers by status."""
        return Counter(visit.status for visit in self.visits)

    def urls(self) -> set[str]:
        """Return the pages that were answered with 200."""
        return {visit.url for visit in self.visits if visit.status == 200}

    def repeated(self) -> Counter[str]:
        """Return the pages that were fetched more than once, and how often beyond that."""
        return Counter(visit.url for visit in self.visits) - Counter(self.urls())

    def window(self, start: float = 0.0, end: float = float("inf")) -> AccessLog:
        """Return the visits that ended within a part of the time, seconds from the beginning of the first one."""
        if not self.visits:
            return self
        first = self.visits[0].began
        return AccessLog([v for v in self.visits if start <= v.ended - first < end])

    @property
    def seconds(self) -> float:
        """From the beginning of the first visit to the end of the last."""
        return max(visit.ended for visit in self.visits) - self.visits[0].began

    def last(self, client: str) -> float:
        """Return when the last visit of a client ended, seconds from the beginning of the first of all."""
        return max(v.ended for v in self.visits if v.client == client) - self.visits[0].began

    def stays(self, of: str = "host") -> list[Stay]:
        """Return what came on each connection to a host, or ``address``, by the time it began."""
        groups: defaultdict[tuple[str, str, int], list[Visit]] = defaultdict(list)
        for visit in self.visits:
            groups[getattr(visit, of), visit.client, visit.connection].append(visit)
        return sorted(
            Stay(visits[0].began, max(v.ended for v in visits), host, client, len(visits))
            for (host, client, _), visits in groups.items()
        )

    def at_once(self, slack: float = 0.002, of: str = "host") -> list[tuple[Stay, Stay]]:
        """Return the pairs of stays of two clients at a host, or ``address``, at the same time.

        Stays, not visits: where a page takes no time, nobody would be met on it.

        Args:
            slack: seconds of both together that are not counted, as the log's clock is coarse.
        """
        found = []
        last: defaultdict[str, dict[str, Stay]] = defaultdict(dict)  # of each client, by its end
        for stay in self.stays(of):
            others = last[stay.host]
            found += [
                (other, stay)
                for client, other in others.items()
                if client != stay.client and other.ended - slack > stay.began
            ]
            if stay.client not in others or others[stay.client].ended < stay.ended:
                others[stay.client] = stay
        return found

    def most_at_once(self, slack: float = 0.002) -> int:
        """Return how many visits a host had at the same time, whoever made them: at most, of any host."""
        most = min(len(self.visits), 1)
        for visits in self._by("host"):
            long = [visit for visit in visits if visit.ended - slack > visit.began]
            steps = [(v.began, 1) for v in long] + [(v.ended - slack, -1) for v in long]
            most = max([most, *accumulate(step for _, step in sorted(steps))])
        return most

    def least_gap(self, of: str = "host", *, handed_over: bool = False) -> float:
        """Return the least time from the beginning of a visit to that of the next to the same host, or ``address``; seconds.

        Args:
            of: what is visited.
            handed_over: look only where the two come from different clients.
        """
        return min(
            (
                later.began - visit.began
                for visits in self._by(of)
                for visit, later in pairwise(visits)
                if not handed_over or visit.client != later.client
            ),
            default=float("inf"),
        )

    def least_pause(self, of: str = "host") -> float:
        """Return the least time from the end of a visit to the beginning of the next to the same host, or ``address``; seconds."""
        return min(
            (
                later.began - visit.ended
                for visits in self._by(of)
                for visit, later in pairwise(visits)
            ),
            default=float("inf"),
        )

    def moves(self) -> int:
        """Count how often a host's next visit came from another client than the one before."""
        return sum(
            visit.client != later.client
            for visits in self._by("host")
            for visit, later in pairwise(visits)
        )

    def by_client(self) -> Counter[str]:
        """Count the visits of each client."""
        return Counter(visit.client for visit in self.visits)

    def _by(self, field: str) -> Iterator[list[Visit]]:
        groups: defaultdict[str, list[Visit]] = defaultdict(list)
        for visit in self.visits:
            groups[getattr(visit, field)].append(visit)
        yield from groups.values()
