"""How nodes divide the pages: whatever the order in which they speak, never more than the limit, and all of them in the end."""

from math import inf
from random import Random
from types import SimpleNamespace

import pytest

from andante.cluster.balance import Load
from andante.cluster.exchange import Node
from andante.crawl.pulse import Beat, Shares


class Crawl:
    """The nodes that the store shows, with their beats."""

    def __init__(self, limit):
        self.limit = limit
        self.nodes = {}
        self.beats = {}
        self.told = []
        self.members = []

    def join(self, *, pages=0, urls=inf):
        member = Member(self, len(self.members) + 1, pages, urls)
        self.members.append(member)
        self.nodes[member.epoch] = Node(member.epoch, member.name, 0, b"")
        member.listen()
        return member

    @property
    def pages(self):
        return sum(each.state.stats.pages for each in self.members)


class Member:
    """A node, with so many URLs that wait for it."""

    def __init__(self, crawl, epoch, pages, urls):
        self.crawl, self.epoch, self.name = crawl, epoch, f"node {epoch}"
        self.urls = urls
        self.state = SimpleNamespace(
            settings=SimpleNamespace(max_pages=crawl.limit, total_rate=inf),
            stats=SimpleNamespace(pages=pages),
            in_hand=0,
            max_pages=crawl.limit,
            is_full=False,
        )
        self.shares = Shares(self.state)
        self.said = self.heard = None
        self.news = 0
        self.speed = 0.0

    def listen(self):
        for text in self.crawl.told:
            assert self.shares.hear(text)
        self.news = len(self.crawl.told)

    def speak(self):
        """Send a report, or the same again."""
        claim = self.shares.claim()
        waiting = int(min(self.urls, 9))
        if self.said is None:
            pages, fetched = self.state.stats.pages, dict(self.shares.fetched)
            load = Load(waiting, throughput=self.speed)
            self.said = Beat(load, pages, fetched=fetched, claim=claim)

    def reach(self):
        """The report reaches the store, and the answer leaves it."""
        if self.said is not None:
            self.crawl.beats[self.epoch] = self.said
            self.heard = dict(self.crawl.nodes), dict(self.crawl.beats), len(self.crawl.told)

    def hear(self):
        """The answer comes."""
        if self.heard is not None:
            *found, news = self.heard
            if news == self.news:
                self.shares.divide_pages(self.epoch, *found, waiting=int(min(self.urls, 9)))
            else:
                self.listen()
            self.said = self.heard = None

    def begin(self):
        """Ask for a page."""
        state = self.state
        if self.urls and state.stats.pages + state.in_hand < state.max_pages:
            state.in_hand += 1
            self.urls -= 1

    def end(self, *, is_page=True):
        """It has come, or something else has."""
        if self.state.in_hand:
            self.state.in_hand -= 1
            self.state.stats.pages += is_page

    def beat(self):
        self.speak()
        self.reach()
        self.hear()

    def leave(self):
        self.crawl.told.append(self.shares.parting(self.name))
        self.die()

    def die(self):
        del self.crawl.nodes[self.epoch]
        self.crawl.beats.pop(self.epoch, None)


@pytest.mark.parametrize("seed", range(100))
def test_whatever_the_order_the_limit_is_met_and_never_passed(seed):
    chance = Random(seed)
    crawl = Crawl(chance.choice([1, 5, 40, 300]))
    crawl.join()
    most = chance.randint(1, 5)
    left = set()
    for _ in range(20_000):
        if len(crawl.members) < most and chance.random() < 0.02:
            crawl.join(urls=chance.choice([0, 3, inf]))
        member = chance.choice(crawl.members)
        if member in left:
            continue
        acts = (member.speak, member.reach, member.hear, member.begin, member.begin, member.end)
        chance.choice([*acts, lambda of=member: of.end(is_page=False)])()
        assert crawl.pages <= crawl.limit
        if member.state.is_full:
            assert crawl.pages == crawl.limit
            member.leave()
            left.add(member)
    assert crawl.pages == crawl.limit
    assert len(left) == len(crawl.members)


def test_one_that_is_alone_has_all_with_its_first_answer():
    a = Crawl(40).join()
    assert a.state.max_pages == 0
    a.beat()
    assert a.state.max_pages == 40


def test_each_has_an_equal_part_soon():
    crawl = Crawl(40)
    members = [crawl.join() for _ in range(3)]
    for _ in range(4):
        for each in members:
            each.beat()
    assert [each.state.max_pages for each in members] == [14, 13, 13]


def test_what_a_node_had_fetched_that_died_counts():
    crawl = Crawl(40)
    a, b = crawl.join(), crawl.join()
    for _ in range(4):
        a.beat()
        b.beat()
    for _ in range(9):
        b.begin()
        b.end()
    b.beat()
    a.beat()
    b.die()
    a.beat()
    a.beat()
    assert a.state.max_pages == 31


def test_one_with_another_epoch_has_nothing_until_it_claims_anew():
    crawl = Crawl(40)
    a = crawl.join(pages=7)
    a.beat()
    a.shares.begin()
    assert a.state.max_pages == 7


def test_the_last_pages_go_to_one_that_has_urls():
    crawl = Crawl(3)
    idle, busy = crawl.join(urls=0), crawl.join()
    for _ in range(10):
        for each in (idle, busy):
            each.beat()
            each.begin()
            each.end()
    assert busy.state.stats.pages == 3


def test_one_that_claims_too_much_takes_nothing_from_one_that_has_its_part():
    crawl = Crawl(40)
    a = crawl.join()
    a.beat()
    b = crawl.join()
    b.beat()
    assert b.state.max_pages == 0
    for _ in range(3):
        a.beat()
        assert a.state.max_pages >= 20
    b.beat()
    b.beat()
    assert (a.state.max_pages, b.state.max_pages) == (20, 20)


def rounds(members, fetched):
    """Let all fetch what they may and speak, until all pages are there; return how often they have spoken."""
    crawl = members[0].crawl
    for count in range(100):
        if crawl.pages == crawl.limit:
            return count
        for each, pages in zip(members, fetched, strict=True):
            each.beat()
            for _ in range(min(pages, max(each.state.max_pages - each.state.stats.pages, 0))):
                each.begin()
                each.end()
            each.speed = float(pages)
    raise AssertionError("the limit is never met")


def test_one_that_has_no_urls_wants_no_pages():
    crawl = Crawl(60)
    assert rounds([crawl.join(), crawl.join(urls=0)], [40, 0]) <= 4


def test_those_that_have_urls_share_the_pages_by_their_speeds():
    """Else the fast one would have half of what the slow one has left, and again half of that, and so on."""
    crawl = Crawl(600)
    assert rounds([crawl.join(), crawl.join(), crawl.join()], [40, 5, 1]) <= 600 / 46 + 5


def test_one_that_has_just_come_is_given_pages():
    crawl = Crawl(10_000)
    old, new = crawl.join(), crawl.join()
    old.speed = 400.0
    for _ in range(4):
        old.beat()
        new.beat()
    assert new.state.max_pages > 10


def test_one_that_has_used_up_its_pages_does_not_wait_to_claim_more():
    crawl = Crawl(40)
    a, b = crawl.join(), crawl.join()
    for _ in range(4):
        a.beat()
        b.beat()
    assert not a.shares.is_pressing
    while a.state.stats.pages < a.state.max_pages:
        a.begin()
        a.end()
    a.beat()
    assert not a.shares.is_pressing, "there is none to be had"
    b.urls = 0
    b.beat()
    b.beat()
    a.beat()
    assert a.shares.is_pressing
    a.beat()
    assert not a.shares.is_pressing
    assert a.state.max_pages == 40


def test_when_all_are_fetched_nobody_waits_to_say_so():
    crawl = Crawl(3)
    a, b = crawl.join(), crawl.join(urls=0)
    rounds([a, b], [3, 0])
    for _ in range(4):
        a.beat()
        b.beat()
    assert a.state.is_full
    assert b.state.is_full
    c = crawl.join()
    c.beat()
    assert c.shares.is_pressing or c.state.is_full
