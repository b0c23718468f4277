"""What must hold in a cluster whatever goes wrong. The checks know what was seen from outside (`andante.sim.watch`), and nothing of the nodes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest
from math import floor, inf
from pathlib import Path

import msgspec

from andante import url as urls
from andante.cluster.exchange import POOL
from andante.cluster.memory import Memory
from andante.cluster.packing import unpack
from andante.crawl.settings import Settings
from andante.frontier.seen import unpack as fingerprints
from andante.sim.watch import Life, Request, Watch, pages
from andante.sim.web import Web

_EPSILON = 1e-6
"""Seconds: more than times may be off by rounding."""

_WHILE = 1.0
"""Seconds, more than the disk takes, after which a node knows what it has written."""

_POOLED = 10
"""Heart-beats after which a server is in the pool no more."""

_TAKEN = 6
"""Times that a server is taken from the pool, at most, and one more for each minute: towards the end each node that has nothing left is given some of the little there is."""

_CONTACT = 2.0
"""Seconds between two words to the store beyond which a node was out of contact."""

_WORD = 3.0
"""Seconds, besides the commit interval and the heart-beat, from the end of a page to the moment at which the store has heard of it."""

_TELLING = 10.0
"""Seconds, more than messages are late, from joining the crawl after a loss until the store has been told what a node holds."""


RULES = (
    "one node a server and IP address",
    "pauses and rates kept",
    "nothing lost",
    "nothing fetched again without need",
    "books in order",
    "nothing asked for or written by others than the owner",
    "no server to and fro where nothing went wrong",
    "ended in time",
)
"""What is checked."""


class Verdict(msgspec.Struct):
    """What was checked, and found wrong."""

    problems: list[str]
    pages: int = 0
    """Different ones in the outputs."""
    requests: int = 0
    again: int = 0
    """Pages that were fetched again."""
    moved: int = 0
    """Times that a server got another owner than its first."""
    seconds: float = 0.0


def check(
    watch: Watch,
    settings: Settings,
    *,
    web: Web,
    outputs: Sequence[Path],
    crawl_delay: float,
    quiet: bool,
    seconds: float,
) -> Verdict:
    """Check a run that has ended.

    Args:
        watch: what was seen.
        settings: of the nodes.
        web: that was crawled: all its pages can be reached.
        outputs: of all nodes.
        crawl_delay: that all servers ask for.
        quiet: nothing went wrong.
        seconds: that it took.
    """
    found = Counter(pages(outputs))
    again = refetched(watch.requests)
    problems = [*watch.problems, *lost(web, found, watch)]
    for requests in by_place(watch.requests, lambda each: each.server).values():
        problems += impatience(requests, crawl_delay)
    for requests in by_place(watch.requests, watch.address).values():
        problems += crowds(requests, settings)
        problems += haste(requests, settings)
    problems += rush(watch.requests, settings, len({life.node for life in watch.lives}))
    problems += waste(again, watch, settings, quiet=quiet)
    problems += theft(watch)
    problems += ghosts(watch)
    problems += books(watch.memory)
    if watch.memory.totals.waiting:
        problems.append(f"{watch.memory.totals.waiting} URLs wait at the end, by the store")
    if quiet:
        problems += unrest(watch, settings)
        problems += [
            f"{url} is {count} times in the outputs" for url, count in found.items() if count > 1
        ]
    return Verdict(
        problems=problems,
        pages=len(found),
        requests=len(watch.requests),
        again=len(again),
        moved=len([each for each in watch.owned if each.owner])
        - len({each.server for each in watch.owned}),
        seconds=seconds,
    )


def by_place(
    requests: Iterable[Request], place: Callable[[Request], str]
) -> dict[str, list[Request]]:
    """Return the requests at each server, or IP address, in the order of their arrival."""
    found: dict[str, list[Request]] = defaultdict(list)
    for request in sorted(requests, key=lambda each: each.arrives):
        found[place(request)].append(request)
    return found


def crowds(requests: Sequence[Request], settings: Settings) -> Iterator[str]:
    """One node an IP address, and so a server: never are more requests under way at one than one node may have, whoever sent them."""
    most = settings.per_server if isinstance(settings.per_server, int) else 1
    under_way: list[Request] = []
    for request in requests:
        under_way = [each for each in under_way if each.ends > request.arrives + _EPSILON]
        under_way.append(request)
        if len(under_way) > most:
            names = ", ".join(f"{each.url} by {each.life.name}" for each in under_way)
            yield f"at {request.arrives:.3f} s more than {most} under way at the address of {request.server}: {names}"


def haste(requests: Sequence[Request], settings: Settings) -> Iterator[str]:
    """Pauses hold, also from the last request of one node to the first one of another."""
    pause = 60.0 / settings.rate if settings.rate < inf else 0.0
    for earlier, later in pairwise(requests):
        same = earlier.life is later.life
        least = max(pause / 2 if same else pause, settings.delay)
        apart = later.arrives - earlier.arrives
        if apart < least - _EPSILON:
            yield _hasty(later, earlier, f"{apart:.3f} s after {earlier.url}", least)
        rest = later.arrives - earlier.ends
        if rest < settings.delay - _EPSILON:
            yield _hasty(later, earlier, f"{rest:.3f} s after the response", settings.delay)
    if settings.rate < inf:
        most = floor(settings.rate) + 1
        for first, last in zip(requests, requests[most:], strict=False):
            if last.arrives - first.arrives < 60.0 - _EPSILON:
                yield f"at {last.arrives:.3f} s the address of {last.server} has had more than {most} requests in a minute"


def impatience(requests: Sequence[Request], crawl_delay: float) -> Iterator[str]:
    """A Crawl-delay holds from page to page; what comes of robots.txt a node may not know yet."""
    asked = [each for each in requests if each.target != "/robots.txt"]
    for earlier, later in pairwise(asked):
        apart = later.arrives - earlier.arrives
        if apart < crawl_delay - _EPSILON:
            yield _hasty(later, earlier, f"{apart:.3f} s after {earlier.url}", crawl_delay)


def rush(requests: Iterable[Request], settings: Settings, nodes: int) -> Iterator[str]:
    """The total rate holds over all nodes; each may have sent one request just before a minute begins, and one as it ends."""
    times = sorted(each.arrives for each in requests)
    most = floor(settings.total_rate) + 2 * nodes if settings.total_rate < inf else len(times)
    for first, last in zip(times, times[most:], strict=False):
        if last - first < 60.0 - _EPSILON:
            yield f"at {last:.3f} s the crawl has had more than {most} requests in a minute"
            break


def _hasty(later: Request, earlier: Request, what: str, least: float) -> str:
    return f"at {later.arrives:.3f} s {later.life.name} asks for {later.url} {what} by {earlier.life.name}: {least:g} s is least"


def lost(web: Web, found: Counter[str], watch: Watch) -> Iterator[str]:
    """Every page is in some output, and nothing else is. Where the store has lost its data, a page may be missing of which no node knew that could tell it."""
    wanted = set(web.urls())
    missing = wanted - found.keys()
    if watch.losses:
        got = (each for each in watch.requests if each.is_page and _is_remembered(each, watch))
        missing &= {link for each in got for link in web.links(each.url)}
    if missing:
        yield f"{len(missing)} pages are lost, such as {min(missing)}"
    if strange := found.keys() - wanted:
        yield f"{len(strange)} pages are none of the web's, such as {min(strange)}"


def _is_remembered(request: Request, watch: Watch) -> bool:
    """Tell whether the links of a page that a node got are certainly told: it got it after it had told the store what it held after the last loss, or lived then and was never killed."""
    life, last = request.life, watch.losses[-1]
    if request.ends > _joined(life, last) + _TELLING:
        return True
    survives = life.ended > last and not life.was_killed and not _has_heir(life, watch)
    return survives and life.began < last


def _joined(life: Life, loss: float) -> float:
    """Return when a life has joined the crawl again after a loss; infinity: never."""
    return min((words[0] for words in life.epochs.values() if words[0] > loss), default=inf)


def _has_heir(life: Life, watch: Watch) -> bool:
    """Tell whether a life ended before its time, as the node was started anew."""
    return any(each.node == life.node and each.number > life.number for each in watch.lives)


def refetched(requests: Sequence[Request]) -> list[tuple[Request, Request]]:
    """Return pairs of requests for one page, both of which had it."""
    first: dict[str, Request] = {}
    again = []
    for request in sorted(requests, key=lambda each: each.arrives):
        if not request.is_page:
            continue
        if request.url in first:
            again.append((first[request.url], request))
        first[request.url] = request
    return again


def theft(watch: Watch) -> Iterator[str]:
    """Nobody begins to write a page of a server that is not its own, by the store."""
    for each in watch.written:
        if not each.was_owner:
            yield f"at {each.time:.3f} s {each.life.name} writes {each.url}, whose server is not its own"


def ghosts(watch: Watch) -> Iterator[str]:
    """Nobody sends a request after its epoch has ended: whoever ends one knows that its lease had."""
    for request in watch.requests:
        sent = request.arrives - watch.way(request)
        epochs = _epochs(request.life, request.arrives)
        if epochs and all(sent > watch.buried.get(epoch, inf) + _EPSILON for epoch in epochs):
            yield f"at {sent:.3f} s {request.life.name} asks for {request.url}, though its epoch {max(epochs)} is over"


def _epochs(life: Life, time: float) -> list[int]:
    """Return the epochs that a node may have: the last under which it has spoken, and later ones, of which it may never have heard."""
    given = {epoch: words for epoch, words in life.epochs.items() if words[0] <= time}
    spoken = max((epoch for epoch, words in given.items() if len(words) > 1), default=0)
    return [epoch for epoch in given if epoch >= spoken]


def waste(
    again: Iterable[tuple[Request, Request]], watch: Watch, settings: Settings, *, quiet: bool
) -> Iterator[str]:
    """A page is fetched again only if the node that had it was killed or buried before the store could hear of it, and not by that node if it is in its output."""
    written = {(each.life.node, each.url): each.time for each in watch.written}
    grace = settings.commit_interval + settings.heartbeat + _WORD
    for earlier, later in again:
        kept = written.get((earlier.life.node, earlier.url), inf)
        if not _was_forgotten(earlier, later, kept, watch) and (
            quiet or not _was_unheard(earlier, watch, grace)
        ):
            yield f"at {later.arrives:.3f} s {later.life.name} asks for {later.url} again, which {earlier.life.name} had at {earlier.ends:.3f} s"
        elif written.get((later.life.node, later.url), inf) < later.arrives - _WHILE:
            yield f"at {later.arrives:.3f} s {later.life.name} asks for {later.url} again, which is in its output"


def _was_forgotten(earlier: Request, later: Request, kept: float, watch: Watch) -> bool:
    """Tell whether the store has lost that a page had been got, and the node that had it in its output could not tell it before the store was settled.

    Args:
        earlier: by which the page was got.
        later: the same once more.
        kept: when it was in the output of the first node.
        watch: what was seen.
    """
    life = earlier.life
    for loss, settled in zip_longest(watch.losses, watch.settled, fillvalue=inf):
        joined = _joined(life, loss)
        told = joined + _TELLING
        is_late = kept > joined or life.was_killed or _has_heir(life, watch) or told > settled
        if loss < later.arrives and earlier.ends <= told and is_late:
            return True
    return False


def _was_unheard(request: Request, watch: Watch, grace: float) -> bool:
    """Tell whether a page came shortly before the last word of an epoch that was buried, or after it.

    While a node was out of contact it may not have been allowed to commit, or not have run at all: that time does not count.
    """
    since, epochs = request.ends, request.life.epochs
    epoch = max((epoch for epoch, words in epochs.items() if words[0] <= since), default=0)
    if epoch not in watch.buried:
        return False
    last = epochs[epoch][-1]
    gaps = (
        min(later, last) - max(earlier, since)
        for earlier, later in pairwise(epochs[epoch])
        if later - earlier > _CONTACT and later > since
    )
    return since >= last - grace - sum(gaps)


def unrest(watch: Watch, settings: Settings) -> Iterator[str]:
    """Where nothing goes wrong the pool is emptied soon, and no server goes to and fro."""
    for server, seconds in watch.lay.items():
        if seconds > _POOLED * settings.heartbeat:
            yield f"{server} was in the pool for {seconds:.1f} s"
    most = _TAKEN + max((request.ends for request in watch.requests), default=0.0) // 60.0
    for server, count in _taken(watch).items():
        if count > most:
            yield f"{server} was taken from the pool {count} times"


def _taken(watch: Watch) -> Counter[str]:
    """Return how often each server was taken from the pool, not given by one node to another that had its IP address."""
    before: dict[str, int] = {}
    taken: Counter[str] = Counter()
    for owned in watch.owned:
        taken[owned.server] += bool(owned.owner and not before.get(owned.server, POOL))
        before[owned.server] = owned.owner
    return taken


def books(memory: Memory) -> Iterator[str]:
    """What the store counts is what its logs say: what waits has been found and has not ended, each once."""
    for server, log in memory.logs.items():
        found: Counter[bytes] = Counter()
        for entry in log.entries:
            if entry.entry:
                links, _ = unpack(entry.entry)
                fresh = entry.fresh or b"\1" * len(links)
                pairs = zip(links, fresh, strict=True)
                found.update(urls.fingerprint(server + link.target) for link, new in pairs if new)
            else:
                found.subtract(fingerprints(entry.fingerprints))
        if sum(found.values()) != log.waiting:
            yield f"{server}: {log.waiting} wait by the store's count, {sum(found.values())} by its log"
        if wrong := [count for count in found.values() if count not in (0, 1)]:
            yield f"{server}: {len(wrong)} URLs have ended more or less often than they were found"
