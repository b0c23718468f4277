"""What may befall a cluster, and what must be true of it all the same: short in the tests, long and often in ``benchmarks/cluster_failures.py``.

Each failure takes a seed for its random moments and a size, and returns what there is to say of a run that went well; else an
`AssertionError` says what was wrong. What is looked at is the log of the web server, and what the nodes have written.
"""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import datetime
from typing import Any, NamedTuple

from andante.flow.pace import CREDIT
from bed.crew import CONNECTIONS, HEARTBEAT, Crawler, Crew, crew
from bed.site import LINKS, Site
from services.process import wait_until
from services.redis import redis_server

LEASE = 3.0
"""Seconds; of a session, too, and who was away from ZooKeeper for one is looked for as long again."""

MEMORY = 150 << 20
"""Bytes that a node takes at most while it cannot be heard: it begins with 60 MiB."""

JITTER = 0.05
"""Seconds by which a request may reach the server later than the next one does, where other work holds the processor."""

HALT = 0.5
"""Seconds that a node hangs, and then runs, to be half as fast: longer than a page takes, or it would wait for the answers meanwhile."""

STEADY = 30.0
"""Seconds that a crawl takes at least to be judged by its steady state: in a shorter one there is none."""

LEVEL = 0.1
"""Share of a crawl's time within which all its nodes are done."""


class Size(NamedTuple):
    """Of a crawl."""

    hosts: int
    pages: int
    """Of each host."""
    rate: float
    """Requests a second to each host."""
    outage: float
    """Seconds that something is gone or hangs."""

    @property
    def site(self) -> Site:
        return Site(hosts=self.hosts, pages=self.pages)

    @property
    def all(self) -> int:
        return self.hosts * self.pages

    @property
    def flags(self) -> Sequence[object]:
        return ("--rate", f"{self.rate:g}/s")


SMALL = Size(hosts=24, pages=40, rate=5, outage=7)
LARGE = Size(hosts=50, pages=200, rate=6, outage=30)


def begun(
    nodes: Crew, size: Size, chance: random.Random, latest: float = 0.6, earliest: float = 0.02
) -> None:
    """Start all, and wait for a random moment, by the share of the pages that were asked for."""
    nodes.start()
    nodes.wait_for_pages(int(chance.uniform(earliest, latest) * size.all) + 1)


def ended(nodes: Crew, size: Size, *gone: Crawler, failures: int = 0) -> str:
    """Wait for the end, and check what must always be true."""
    nodes.finish(*gone)
    again = nodes.check_nothing_is_lost(failures)
    nodes.check_manners()
    return f"{again} fetched again, {' + '.join(str(len(n.written())) for n in nodes.nodes)} pages"


def killed(
    seed: int, size: Size, *, count: int, comes_back: bool, has_zookeeper: bool = False
) -> str:
    """Some of three nodes are killed at once, and are started again with the same jobs, or never."""
    chance = random.Random(seed)
    with crew(size.site, *size.flags, lease=f"{LEASE}s", has_zookeeper=has_zookeeper) as nodes:
        begun(nodes, size, chance)
        gone = chance.sample(nodes.nodes, count)
        at = nodes.pages()
        for node in gone:
            node.kill()
        if comes_back:
            time.sleep(chance.choice([0.0, LEASE / 2, 2 * LEASE]))
            for node in gone:
                node.start()
            gone = []
        told = ended(nodes, size, *gone, failures=count)
        return f"killed after {at} pages: {told}"


def paused(seed: int, size: Size, *, has_zookeeper: bool = False) -> str:
    """A node hangs for longer than its lease, and wakes up: what was another's meanwhile it does not write."""
    chance = random.Random(seed)
    with crew(size.site, *size.flags, lease=f"{LEASE}s", has_zookeeper=has_zookeeper) as nodes:
        begun(nodes, size, chance, 0.3)
        node = chance.choice(nodes.nodes)
        if node.size or chance.random() < 0.8:
            before = node.size
            wait_until(lambda: node.size > before)
            time.sleep(0.4)  # the commit is over, and the next one is not there yet
        node.pause()
        asleep = {page.final_url for page in node.written()}
        time.sleep(size.outage + (LEASE if has_zookeeper else 0.0))
        awake = time.time()
        node.resume()
        told = ended(nodes, size, failures=1)
        late = [
            page.final_url
            for page in node.written()
            if page.final_url not in asleep
            and datetime.fromisoformat(page.fetched_at).timestamp() < awake
        ]
        assert not late, f"{len(late)} pages written under a lost lease: {late[:5]}"
        assert node.events("cluster.fenced"), "it was not taken for dead"
        return f"hung after {len(asleep)} of its pages: {told}"


def without_redis(
    seed: int, size: Size, *, how: str, has_zookeeper: bool = False, room: int = 0
) -> str:
    """Redis is gone for a while: killed and started again with its data, or hung, or cut off, or full. Where nodes have room for few links only, they wait for it."""
    chance = random.Random(seed)
    options: dict[str, Any] = (
        {"appendonly": True, "appendfsync": "always"} if how == "killed" else {}
    )
    lease = f"{LEASE if has_zookeeper else size.outage * 1.2 + 1}s"
    bound = ("--max-unheard", room, "--recent", 0) if room else ()
    with crew(
        size.site,
        *size.flags,
        *bound,
        lease=lease,
        has_zookeeper=has_zookeeper,
        linked=how == "cut",
        **options,
    ) as nodes:
        begun(nodes, size, chance, 0.4, earliest=0.2)
        before = nodes.pages()
        take, give_back = _ways(nodes)[how]
        take()
        time.sleep(size.outage)
        meanwhile = nodes.pages() - before
        unheard = [node.unheard for node in nodes.nodes]
        most = max(node.memory for node in nodes.nodes)
        give_back()
        told = ended(nodes, size)
        check_nobody_is_buried(nodes)
        assert all(node.events("cluster.trouble") for node in nodes.nodes), "nothing was said of it"
        assert most < MEMORY, f"a node has had {most >> 20} MiB"
        if room:
            assert max(unheard) < room + CONNECTIONS * LINKS, f"{unheard} links unheard"
            assert max(unheard) >= room, f"{unheard} links unheard: nothing was held back"
        else:
            check_it_went_on(meanwhile, before, size)
        return f"{meanwhile} pages meanwhile, {unheard} links unheard, {most >> 20} MiB, {told}"


def _ways(nodes: Crew) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """Return how Redis is taken away, and given back."""
    redis, link = nodes.redis, nodes.network.link
    ways: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "killed": (redis.kill, redis.start),
        "hung": (redis.pause, redis.resume),
        "full": (
            lambda: redis.control.config_set("maxmemory", 1),
            lambda: redis.control.config_set("maxmemory", 0),
        ),
    }
    return ways if link is None else ways | {"cut": (link.cut, link.heal)}


def check_it_went_on(meanwhile: int, before: int, size: Size) -> None:
    """Check that pages were fetched in an outage at half the speed at least, as long as there were any: all were known when a fifth was fetched."""
    least = min(size.rate * size.hosts * size.outage, size.all - before) / 2
    assert meanwhile >= least, f"{meanwhile} pages meanwhile, after {before}"


def missed_loss(seed: int, size: Size) -> str:
    """Redis loses its data while a node hangs; the others begin anew without it."""
    chance = random.Random(seed)
    with crew(size.site, *size.flags, lease=f"{LEASE}s") as nodes:
        begun(nodes, size, chance, 0.3)
        node = chance.choice(nodes.nodes)
        node.pause()
        nodes.redis.control.flushall()
        time.sleep(max(size.outage, 2 * LEASE + 1))
        node.resume()
        told = ended(nodes, size, failures=3)
        assert node.events("cluster.lost"), "it has not seen that"
        return told


def check_nobody_is_buried(nodes: Crew) -> None:
    """Check that no node was taken for dead."""
    said = [
        event for node in nodes.nodes for event in node.events("cluster.buried", "cluster.fenced")
    ]
    assert not said, said


def redis_lost(seed: int, size: Size, *, how: str, has_zookeeper: bool = False) -> str:
    """Redis loses all its data, or the last of them, as a replica takes over that has not heard them: all goes on, and it is told what the nodes hold."""
    chance = random.Random(seed)
    with (
        ExitStack() as replicas,
        crew(size.site, *size.flags, lease=f"{LEASE}s", has_zookeeper=has_zookeeper) as nodes,
    ):
        begun(nodes, size, chance, 0.5)
        at = nodes.pages()
        if how == "flushed":
            nodes.redis.control.flushall()
        elif how == "empty":
            nodes.redis.restart(empty=True)
        else:
            replica = replicas.enter_context(redis_server(place=nodes.redis.place))
            replica.follow(nodes.redis)
            replica.control.execute_command("REPLICAOF NO ONE")
            time.sleep(2 * HEARTBEAT)  # what is said now it does not hear
            nodes.redis.kill()
            replica.take_over(nodes.redis)
        nodes.finish()
        again = nodes.check_nothing_is_lost(3)
        assert any(node.events("cluster.lost") for node in nodes.nodes), "nobody has said so"
        nodes.check_manners()
        return f"lost after {at} pages: {again} fetched again, {' + '.join(str(len(n.written())) for n in nodes.nodes)} pages"


def without_zookeeper(seed: int, size: Size, *, loses: bool) -> str:
    """ZooKeeper is gone for a while, and comes back with its sessions, or without."""
    chance = random.Random(seed)
    with crew(size.site, *size.flags, lease=f"{LEASE}s", has_zookeeper=True) as nodes:
        assert nodes.zookeeper is not None
        begun(nodes, size, chance, 0.4, earliest=0.2)
        before = nodes.pages()
        nodes.zookeeper.kill()
        time.sleep(size.outage)
        meanwhile = nodes.pages() - before
        if loses:
            shutil.rmtree(nodes.zookeeper.folder / "data")
        nodes.zookeeper.start()
        told = ended(nodes, size)
        check_nobody_is_buried(nodes)
        check_it_went_on(meanwhile, before, size)
        return f"{meanwhile} pages meanwhile, {told}"


def cut_off(seed: int, size: Size, *, has_zookeeper: bool = False) -> str:
    """A node cannot reach Redis and ZooKeeper for longer than its lease: it sends no requests, and the others go on."""
    chance = random.Random(seed)
    with crew(
        size.site, *size.flags, lease=f"{LEASE}s", has_zookeeper=has_zookeeper, linked=True
    ) as nodes:
        assert nodes.network.link is not None
        begun(nodes, size, chance, 0.3)
        node = chance.choice(nodes.nodes)
        began = time.time()
        nodes.network.link.cut(node.place)  # type: ignore[arg-type]
        time.sleep(size.outage + (LEASE if has_zookeeper else 0.0))
        healed = time.time()
        nodes.network.link.heal()
        told = ended(nodes, size, failures=1)
        log = nodes.site.finished_log()
        late = [
            visit
            for visit in log.visits
            if visit.client == node.place.address and began + LEASE + 0.2 < visit.began < healed
        ]
        assert not late, f"{len(late)} requests without a lease: {late[0]}"
        assert node.events("cluster.fenced"), "it was not taken for dead"
        return told


def interrupted(seed: int, size: Size) -> str:
    """A node is interrupted by Ctrl-C: it hands over, and the others have its servers at once."""
    chance = random.Random(seed)
    with crew(size.site, *size.flags, lease="60s") as nodes:
        begun(nodes, size, chance, 0.5)
        node = chance.choice(nodes.nodes)
        node.interrupt()
        status = node.wait(15.0)
        assert status == 130, (status, node.printed[-3_000:])
        told = ended(nodes, size, node)
        return f"{len(node.written())} pages until then; {told}"


def polite(seed: int, size: Size) -> str:
    """One node joins late, one leaves, one is killed, one hangs: at no address, which hosts share, is more asked for than may be."""
    chance = random.Random(seed)
    interval = 0.5
    site = Site(hosts=size.hosts, pages=max(size.pages // 2, 20), sharing=4)
    with crew(site, "--rate", "120/min", nodes=4, lease=f"{LEASE}s") as nodes:
        *first, late = range(4)
        chance.shuffle(first)
        leaves, dies, hangs = (nodes.nodes[number] for number in first)
        nodes.start(*first)
        total = size.hosts * site.pages
        nodes.wait_for_pages(total // 10)
        nodes.start(late)
        nodes.wait_for_pages(total // 5)
        leaves.interrupt()
        hangs.pause()
        nodes.wait_for_pages(total * 3 // 10)
        dies.kill()
        time.sleep(LEASE)
        hangs.resume()
        assert leaves.wait(15.0) == 130
        nodes.finish(leaves, dies)
        again = nodes.check_nothing_is_lost(2)
        nodes.check_manners("address", interval / 2 - JITTER)
        between = nodes.site.log().least_gap("address", handed_over=True)
        assert between >= interval - JITTER, f"{between} s from one node's request to another's"
        visits: dict[str, list[float]] = {}
        for visit in nodes.site.finished_log().visits:
            visits.setdefault(visit.address, []).append(visit.began)
        most = max(
            sum(began <= other < began + 20.0 for other in times)
            for times in visits.values()
            for began in times
        )
        # What is late is made up for by half the interval, for as long as a pace gives credit.
        assert most <= (20.0 + CREDIT) / interval + 1, f"{most} requests to one address in 20 s"
        return f"at most {most} requests to an address in 20 s, {between:.2f} s or more between two nodes' there, {again} fetched again"


def joined(seed: int, size: Size) -> str:
    """A third node joins, and has its share of all that waits ten heart-beats later; no server moves after that until the end is near.

    Its share of the pages is not looked for: hosts hold the speed, and it is given few that have much left.
    """
    chance = random.Random(seed)
    size = size._replace(rate=size.rate / 2)  # that a small crawl is not over ten heart-beats later
    with crew(size.site, *size.flags, lease="60s") as nodes:
        late = chance.randrange(3)
        nodes.start(*{0, 1, 2} - {late})
        nodes.wait_for_pages(int(size.all * 0.2))
        nodes.start(late)
        wait_until(lambda: nodes.nodes[late].events("crawl.started"))
        entered = time.time()
        time.sleep(10 * HEARTBEAT)
        waiting = nodes.waiting()
        told = ended(nodes, size)
        log = nodes.site.log()
        since = entered + 10 * HEARTBEAT - log.visits[0].began
        shared = log.window(since, (since + log.seconds) / 2)
        share = waiting[nodes.nodes[late].name] / max(waiting.total(), 1)
        assert share > 0.8 / 3, f"its share is {share:.0%}: {waiting}"
        moves = shared.moves()
        assert not moves or log.seconds < STEADY, f"{moves} servers moved after that"
        return f"share {share:.0%} of {waiting.total()} URLs, {moves} servers moved in {len(shared.visits)} pages after that; {told}"


def unequal(seed: int, size: Size, *, halts: bool = False) -> str:
    """Nodes of unequal speed, as they have fewer connections or hang half of the time, are done at one time; once they have their shares no server moves.

    Hosts are slow to answer, so connections are what limits a node.
    """
    chance = random.Random(seed)
    site = Site(hosts=4 * size.hosts, pages=max(size.pages // 4, 20), speeds=(size.rate,))
    connections = [size.hosts // 4] * 3 if halts else [size.hosts // n for n in (3, 5, 10)]
    chance.shuffle(connections)
    with crew(site, "--rate", "max", connections=connections, lease=f"{LEASE}s") as nodes:
        nodes.start()
        slow = chance.choice(nodes.nodes)
        while halts and slow.status is None:
            slow.halt(HALT)
            time.sleep(HALT)
        told = ended(nodes, size)
        log = nodes.site.log()
        first = min(map(log.last, map(nodes.client, nodes.nodes)))
        apart = 1 - first / log.seconds
        moves = log.window(log.seconds / 3, log.seconds * 2 / 3).moves()
        what = f"{connections} connections, {log.seconds:.0f} s, done within {apart:.1%} of them, {moves} servers moved in the middle; {told}"
        if log.seconds >= STEADY:
            assert apart <= LEVEL, what
            assert not moves or halts, what
        return what


def all_killed(seed: int, size: Size) -> str:
    """All nodes are killed at once, and started again."""
    return killed(seed, size, count=3, comes_back=True)


FAILURES: dict[str, Callable[[int, Size], str]] = {
    "one killed": lambda seed, size: killed(seed, size, count=1, comes_back=False),
    "one killed, back": lambda seed, size: killed(seed, size, count=1, comes_back=True),
    "two killed": lambda seed, size: killed(seed, size, count=2, comes_back=False),
    "two killed, back": lambda seed, size: killed(seed, size, count=2, comes_back=True),
    "one killed, ZooKeeper": lambda seed, size: killed(
        seed, size, count=1, comes_back=False, has_zookeeper=True
    ),
    "all killed, back": all_killed,
    "hung": paused,
    "hung, ZooKeeper": lambda seed, size: paused(seed, size, has_zookeeper=True),
    "interrupted": interrupted,
    "polite": polite,
    "joined": joined,
    "unequal": unequal,
    "unequal, halting": lambda seed, size: unequal(seed, size, halts=True),
    "Redis killed": lambda seed, size: without_redis(seed, size, how="killed"),
    "Redis killed, ZooKeeper": lambda seed, size: without_redis(
        seed, size, how="killed", has_zookeeper=True
    ),
    "Redis cut off": lambda seed, size: without_redis(seed, size, how="cut"),
    "Redis hung, ZooKeeper": lambda seed, size: without_redis(
        seed, size, how="hung", has_zookeeper=True
    ),
    "Redis cut off, little room": lambda seed, size: without_redis(
        seed, size, how="cut", room=size.all // 2
    ),
    "Redis full": lambda seed, size: without_redis(seed, size, how="full", has_zookeeper=True),
    "Redis flushed": lambda seed, size: redis_lost(seed, size, how="flushed"),
    "Redis empty": lambda seed, size: redis_lost(seed, size, how="empty"),
    "Redis empty, ZooKeeper": lambda seed, size: redis_lost(
        seed, size, how="empty", has_zookeeper=True
    ),
    "Redis failed over": lambda seed, size: redis_lost(seed, size, how="failed over"),
    "Redis flushed, one hung": missed_loss,
    "ZooKeeper killed": lambda seed, size: without_zookeeper(seed, size, loses=False),
    "ZooKeeper empty": lambda seed, size: without_zookeeper(seed, size, loses=True),
    "node cut off": cut_off,
    "node cut off, ZooKeeper": lambda seed, size: cut_off(seed, size, has_zookeeper=True),
}
"""All that may happen, by name."""
