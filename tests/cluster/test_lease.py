"""A lease ends before anyone may take its node for dead, whatever the network does; and who beats is not taken for dead."""

import asyncio
from math import inf
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from andante.cluster.exchange import Node, Report, UnreachableError
from andante.cluster.lease import DRIFT, HELD, Judge, Lease, Watch
from andante.cluster.memory import Memory, MemoryStore
from andante.cluster.sessions import MemoryMembers, Sessions
from andante.sim.clock import run

TTLS = {Judge.STORE: 45.0, Judge.MEMBERS: 10.0}


# The lease by itself


def test_a_lease_begins_with_the_store():
    lease = Lease(TTLS)
    assert not lease.holds(-1e9)
    lease.confirmed(Judge.MEMBERS, 100.0, 100.1)
    assert not lease.holds(100.1)
    lease.confirmed(Judge.STORE, 100.0, 100.1)
    assert lease.until == 100.0 + 45.0 * HELD
    assert lease.holds(140.7)
    assert not lease.holds(140.8)


def test_it_counts_from_the_sending_and_is_never_shortened():
    lease = Lease(TTLS)
    lease.confirmed(Judge.STORE, 0.0, 40.0)
    assert lease.until == 45.0 * HELD
    lease.confirmed(Judge.MEMBERS, 30.0, 40.0)
    assert lease.until == 45.0 * HELD
    lease.confirmed(Judge.MEMBERS, 39.0, 40.0)
    assert lease.until == 39.0 + 10.0 * HELD


def test_the_members_go_on_with_a_lease_but_do_not_bring_it_back():
    lease = Lease(TTLS)
    lease.confirmed(Judge.STORE, 0.0, 0.0)
    for second in range(0, 1_000, 9):
        lease.confirmed(Judge.MEMBERS, second, second)
        assert lease.holds(second)
    lease.confirmed(Judge.MEMBERS, 1_007.9, 1_008.2)  # it had ended at 999 + 9.05
    assert not lease.holds(1_008.2)
    lease.confirmed(Judge.STORE, 1_008.0, 1_008.2)
    assert lease.holds(1_008.2)


def test_the_store_brings_it_back_only_from_when_its_message_was_sent():
    lease = Lease(TTLS)
    lease.confirmed(Judge.STORE, 0.0, 1_000.0)
    assert not lease.holds(1_000.0)


def test_who_is_buried_holds_nothing():
    lease = Lease(TTLS)
    lease.confirmed(Judge.STORE, 0.0, 0.0)
    lease.end()
    lease.confirmed(Judge.MEMBERS, 0.0, 0.0)
    assert not lease.holds(0.0)


def test_the_slowest_clock_holds_no_longer_than_the_fastest_waits():
    assert HELD / (1 - DRIFT) <= 1 / (1 + DRIFT) + 1e-15
    assert 0.9 < HELD < 0.91


# The watch by itself


def read(watch, sent_at, now, **counts):
    nodes = {int(name[1:]): Node(int(name[1:]), name, n, b"") for name, n in counts.items()}
    watch.observe(nodes, sent_at, now)


def test_silent_is_whose_count_stays_a_whole_lease():
    watch = Watch(10.0)
    for second in range(10):
        read(watch, second, second + 0.5, n1=second, n2=7)
        assert watch.silent(second + 0.5) == {}
    read(watch, 10.4, 10.6, n1=10, n2=7)
    assert watch.silent(10.6) == {}  # from 0.5 to 10.4
    read(watch, 10.5, 10.7, n1=10, n2=7)
    assert watch.silent(10.7) == {2: 7}
    read(watch, 11.0, 11.1, n1=10, n2=8)
    assert watch.silent(11.1) == {}


def test_who_is_buried_is_no_longer_silent():
    watch = Watch(1.0)
    for tenth in range(13):
        read(watch, tenth / 10, tenth / 10, n1=1)
    assert watch.silent(1.2) == {1: 1}
    read(watch, 1.3, 1.3)
    assert watch.silent(1.3) == {}


@pytest.mark.parametrize("is_told", [True, False])
def test_after_a_gap_observation_starts_anew(is_told):
    watch = Watch(10.0)
    for second in range(10):
        read(watch, second, second, n1=7)
    if is_told:
        watch.gap()
        back = 10
    else:
        back = 13  # as it was stopped itself
    for second in range(back, back + 10):
        read(watch, second, second, n1=7)
        assert watch.silent(second) == {}
    read(watch, back + 10, back + 10, n1=7)
    assert watch.silent(back + 10) == {1: 7}


def test_an_old_reading_says_nothing():
    watch = Watch(10.0)
    for second in range(11):
        read(watch, second, second, n1=7)
    assert watch.silent(10.0) == watch.silent(13.3) == {1: 7}
    assert watch.silent(13.4) == {}


def test_an_answer_that_lay_while_the_observer_was_stopped_blames_nobody():
    watch = Watch(10.0)
    read(watch, 0.0, 0.1, n1=7)
    read(watch, 1.0, 61.0, n1=7)
    assert watch.silent(61.0) == {}
    read(watch, 61.0, 61.1, n1=7)
    assert watch.silent(61.1) == {}


seconds = st.floats(0.0, 3.0)


@given(
    beats=st.lists(st.floats(0.1, 9.4), min_size=3, max_size=40),
    readings=st.lists(st.tuples(seconds, seconds, seconds), min_size=3, max_size=80),
    rate=st.floats(1 - DRIFT, 1 + DRIFT),
)
def test_who_beats_often_enough_is_never_silent(beats, readings, rate):
    """At least each 9.4 s for a lease of 10, by a clock 5 % slower: whatever times the readings take."""
    watch, counted, time = Watch(10.0), [0.0], 0.0
    for pause in beats:
        counted.append(counted[-1] + pause)
    for pause, there, back in readings:
        sent, at, now = time + pause, time + pause + there, time + pause + there + back
        time = now
        if at > counted[-1]:
            break
        read(watch, sent * rate, now * rate, n1=sum(beat <= at for beat in counted))
        assert watch.silent(now * rate) == {}


@given(
    st.floats(0.0, 50.0),
    st.lists(st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)), min_size=1, max_size=20),
)
def test_who_is_dead_is_found_within_the_lease_and_two_readings(death, pattern):
    watch, now = Watch(10.0), 0.0
    while not watch.silent(now):
        assert now < death + 10.0 + 2 * 2.0 + 1.0
        for pause, wait in pattern:
            now += 0.01 + pause + wait
            read(watch, now - wait, now, n1=int(min(now, death) * 3))
    assert now > death + 10.0 - 1 / 3


# Both, over a network that delays, loses and parts, by clocks that run wrong


class Clock:
    def __init__(self, random):
        self.rate, self.offset = random.uniform(1 - DRIFT, 1 + DRIFT), random.uniform(0, 1e6)

    def __call__(self):
        return self.offset + self.rate * asyncio.get_running_loop().time()


class Link:
    """A way to a service, which is cut now and then."""

    def __init__(self, random):
        self.random = random
        self.turns, time = [], 0.0
        while time < 1_000.0:
            time += random.expovariate(1 / random.choice([5.0, 20.0, 80.0]))
            self.turns.append(time)

    async def cross(self):
        delays = [
            self.random.expovariate(20),
            self.random.expovariate(2),
            self.random.uniform(0, 9),
        ]
        await asyncio.sleep(self.random.choices(delays, [30, 6, 1])[0])
        now = asyncio.get_running_loop().time()
        if sum(turn < now for turn in self.turns) % 2:
            await asyncio.sleep(2.0)
            raise UnreachableError


class Peer:
    """What a node does with its lease and its watch."""

    def __init__(self, world, lease):
        self.world, self.clock, self.lease = world, Clock(world.random), lease
        self.members = MemoryMembers(world.sessions, *[Link(world.random).cross] * 2)
        self.link, self.watch, self.epoch = Link(world.random), Watch(world.ttl), 0

    def confirmed(self, judge, sent_at):
        self.lease.confirmed(judge, sent_at, self.clock())
        self.world.check(self)

    async def beat(self):
        self.epoch = (
            await MemoryStore(self.world.memory).join(f"{id(self)}", token="", config=b"")
        ).epoch
        self.lease.confirmed(Judge.STORE, self.clock(), self.clock())
        number = 0
        while self.epoch not in self.world.memory.buried:
            number, first = number + 1, self.clock()
            await self.say(Report(number, beat=b"beat"), first)
            await asyncio.sleep(1.0)

    async def say(self, report, first):
        while self.epoch not in self.world.memory.buried:
            sent = self.clock()
            try:
                await self.link.cross()
                if self.epoch in self.world.memory.buried:
                    return
                answer = self.world.memory.answer(report, self.epoch)
                await self.link.cross()
            except UnreachableError:
                self.watch.gap()
                continue
            self.confirmed(Judge.STORE, self.world.sending(first, sent))
            self.watch.observe(answer.nodes, sent, self.clock())
            await self.bury(self.watch.silent(self.clock()))
            return

    async def bury(self, silent):
        try:
            present = await self.members.present() if silent and self.world.has_members else ()
            for epoch, count in silent.items():
                if epoch not in present:
                    await self.link.cross()
                    await self.world.bury(epoch, count)
        except UnreachableError:
            pass

    async def be_there(self):
        await self.members_say(lambda: self.members.enter(self.epoch, ""))
        while self.epoch not in self.world.memory.buried:
            await self.members_say(self.members.confirm)
            await asyncio.sleep(1.0)

    async def members_say(self, ask):
        sent = self.clock()
        try:
            await ask()
            self.confirmed(Judge.MEMBERS, sent)
        except UnreachableError:
            pass


class World:
    ttl = 10.0

    def __init__(self, seed, lease=Lease, sending=min, compares=True):
        self.random, self.sending, self.compares = Random(seed), sending, compares
        self.has_members = self.random.random() < 0.7
        self.memory, self.broken = Memory(lambda: 0.0), []
        self.sessions = Sessions(Clock(self.random), self.ttl)
        ttls = {Judge.STORE: self.ttl, Judge.MEMBERS: self.ttl}
        self.peers = [Peer(self, lease(ttls)) for _ in range(3)]

    def check(self, peer):
        if peer.epoch in self.memory.buried and peer.lease.holds(peer.clock()):
            self.broken.append(peer)

    async def bury(self, epoch, count):
        node = self.memory.nodes.get(epoch)
        if node is not None and (node.count == count or not self.compares):
            self.memory.buried.add(epoch)
            del self.memory.nodes[epoch]
            self.check(next(peer for peer in self.peers if peer.epoch == epoch))

    async def live(self):
        tasks = [asyncio.create_task(peer.beat()) for peer in self.peers]
        if self.has_members:
            await asyncio.sleep(0)
            tasks += [asyncio.create_task(peer.be_there()) for peer in self.peers]
        await asyncio.wait(tasks, timeout=300.0)
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            assert outcome is None or isinstance(outcome, asyncio.CancelledError), outcome
        return len(self.memory.buried)


def live(seed, **wrong):
    """Return how many are buried in a world, and how many of them whose lease holds."""

    async def main():
        world = World(seed, **wrong)
        return await world.live(), len(world.broken)

    return run(main())


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_nobody_is_buried_whose_lease_holds(seed):
    assert not live(seed)[1]


def test_there_are_burials_in_these_worlds():
    assert sum(live(seed)[0] for seed in range(10)) > 5


class Trusting(Lease):
    """Lets the members bring a lease back."""

    def confirmed(self, judge, sent_at, now):
        super().confirmed(Judge.STORE, sent_at, now)


class Greedy(Lease):
    """Holds as long as the judge waits, and then a little."""

    def confirmed(self, judge, sent_at, now):
        if judge is Judge.STORE or self.holds(now):
            self.until = max(self.until, sent_at + 1.1 * self._ttls[judge])


@pytest.mark.parametrize(
    ("seed", "wrong"),
    [
        pytest.param(0, {"lease": Greedy}, id="a lease a tenth longer"),
        pytest.param(181, {"sending": max}, id="from the last sending"),
        pytest.param(49, {"lease": Trusting}, id="members bring a lease back"),
        pytest.param(2, {"compares": False}, id="burial by an old count"),
    ],
)
def test_each_rule_is_needed(seed, wrong):
    """Here is a world in which without it a node is buried whose lease holds."""
    assert live(seed, **wrong)[1]
    assert not live(seed)[1]


def test_a_repr_says_until_when_and_over_whom():
    lease, watch = Lease(TTLS), Watch(1.0)
    assert lease.until == -inf
    lease.confirmed(Judge.STORE, 0.0, 0.0)
    read(watch, 0.0, 0.0, n2=1, n1=1)
    assert (repr(lease), repr(watch)) == ("<Lease until 40.714>", "<Watch over [1, 2]>")
