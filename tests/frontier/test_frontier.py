"""The frontier by example, then as a state machine against its rules."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from andante.frontier import Frontier
from andante.frontier.policy import QualityFirst
from support.disk import Disk


def drain(frontier, now=0.0):
    """Visit all that may be visited, one after another; return the URLs."""
    found = []
    while server := frontier.open_visit(now):
        while task := frontier.take(server, now):
            found.append(task.url)
            frontier.finish(task)
        frontier.close_visit(server)
    return found


def urls(host, count):
    return [f"http://{host}.example/{number}" for number in range(count)]


def test_urls_of_a_server_come_in_the_order_found():
    frontier = Frontier(Disk().load)
    assert frontier.offer(urls("a", 3), depth=0) == 3
    assert drain(frontier) == urls("a", 3)


def test_a_url_is_queued_once():
    frontier = Frontier(Disk().load)
    frontier.offer(urls("a", 3), depth=0)
    assert frontier.offer(urls("a", 4), depth=1) == 1
    assert frontier.queued == 4


def test_servers_take_turns_in_the_order_they_became_ready():
    frontier = Frontier(Disk().load, set_point=60)
    for host in "abc":
        frontier.offer(urls(host, 2), depth=0)
    order = []
    now = 0.0
    while (wakeup := frontier.wakeup()) is not None:
        now = max(now, wakeup)
        server = frontier.open_visit(now)
        order.append((now, frontier.take(server, now).url[7]))
        server.origin_pace.on_sent(now)
        frontier.close_visit(server)
    assert order == [(0.0, "a"), (0.0, "b"), (0.0, "c"), (1.0, "a"), (1.0, "b"), (1.0, "c")]


def test_a_visited_server_is_not_chosen_again():
    frontier = Frontier(Disk().load)
    frontier.offer(urls("a", 3), depth=0)
    server = frontier.open_visit(0.0)
    assert frontier.open_visit(0.0) is None
    frontier.close_visit(server)
    assert frontier.open_visit(0.0) is server


def test_as_many_visits_as_a_server_may_have():
    frontier = Frontier(Disk().load, per_server=2)
    frontier.offer(urls("a", 9), depth=0)
    server = frontier.open_visit(0.0)
    assert frontier.open_visit(0.0) is None, "one, until more are allowed"
    frontier.widen(server)
    assert frontier.open_visit(0.0) is server
    assert frontier.open_visit(0.0) is None


def test_servers_at_one_address_share_its_pace():
    frontier = Frontier(Disk().load, set_point=60)
    for host in "ab":
        frontier.offer(urls(host, 2), depth=0)
    a = frontier.open_visit(0.0)
    assert frontier.bind(a, "192.0.2.1", 0.0)
    a.origin_pace.on_sent(0.0)
    a.address.pace.on_sent(0.0)
    b = frontier.open_visit(0.0)
    assert not frontier.bind(b, "192.0.2.1", 0.0), "a is there: b must wait"
    assert b.next_time == 1.0, "what a did counts for b"
    frontier.close_visit(b)
    frontier.close_visit(a)
    assert frontier.open_visit(0.9) is None
    assert frontier.open_visit(1.0) is not None
    assert frontier.open_visit(1.0) is None, "one visit at the address"


def test_without_politeness_by_address_servers_are_alone():
    frontier = Frontier(Disk().load, set_point=60, per_address=False)
    for host in "ab":
        frontier.offer(urls(host, 2), depth=0)
    for server in (frontier.open_visit(0.0), frontier.open_visit(0.0)):
        frontier.bind(server, "192.0.2.1", 0.0)
        assert server.next_time == 0.0


def test_a_retry_waits_and_comes_back_with_its_attempts():
    frontier = Frontier(Disk().load)
    frontier.offer(urls("a", 1), depth=0)
    server = frontier.open_visit(0.0)
    task = frontier.take(server, 0.0)
    frontier.retry(task, 5.0, attempts=1)
    assert frontier.take(server, 4.9) is None
    frontier.close_visit(server)
    assert frontier.open_visit(4.9) is None
    assert frontier.wakeup() == 5.0
    again = frontier.take(frontier.open_visit(5.0), 5.0)
    assert (again.url, again.attempts) == (task.url, 1)


def test_links_of_far_blocks_leave_memory_and_come_back():
    disk = Disk()
    frontier = Frontier(disk.load, resident_max=1_500)
    frontier.offer(urls("a", 5_000), depth=0)
    disk.commit(frontier)
    assert frontier.resident < 1_500, "the head, which is wanted next, stays"
    assert drain(frontier) == urls("a", 5_000)


def test_what_is_read_again_is_let_go_again():
    """Each of many servers is visited for a moment, again and again: memory must not come to hold a block of each."""
    disk = Disk()
    frontier = Frontier(disk.load, resident_max=500)
    for number in range(20):
        frontier.offer(urls(f"h{number}", 300), depth=1)
        disk.commit(frontier)
    for now in range(1, 30):
        for _ in range(20):
            server = frontier.open_visit(now)
            for _ in range(5):
                frontier.finish(frontier.take(server, now))
            frontier.close_visit(server)
        disk.commit(frontier)
        assert frontier.resident <= 2 * 500
    drain(frontier, 30.0)
    disk.commit(frontier)
    assert (frontier.resident, len(frontier._spare)) == (0, 0)


def test_an_unfinished_url_comes_back_after_a_restart():
    disk = Disk()
    frontier = Frontier(disk.load)
    frontier.offer(urls("a", 3), depth=0)
    server = frontier.open_visit(0.0)
    frontier.finish(frontier.take(server, 0.0))
    frontier.take(server, 0.0)  # in hand when the process dies
    disk.commit(frontier)
    again = Frontier(disk.load)
    disk.restore(again)
    assert again.queued == 2
    assert again.offer(urls("a", 4), depth=1) == 1, "known ones are still known"
    assert drain(again) == urls("a", 4)[1:]


class FrontierMachine(RuleBasedStateMachine):
    """Any order of links, visits, failures, commits and deaths loses nothing, and breaks no politeness."""

    def __init__(self):
        super().__init__()
        self.disk, self.now = Disk(), 0.0
        self.frontier = self.new()
        self.known, self.ended = set(), set()
        self.committed = (set(), set())
        self.visits, self.in_hand = [], []

    def new(self):
        return Frontier(self.disk.load, set_point=60, per_server=2, resident_max=3)

    @rule(host=st.sampled_from("abc"), numbers=st.lists(st.integers(0, 30), max_size=6))
    def offer(self, host, numbers):
        found = [f"http://{host}.example/{number}" for number in dict.fromkeys(numbers)]
        assert self.frontier.offer(found, depth=0) == len(set(found) - self.known)
        self.known |= set(found)

    @rule()
    def open_visit(self):
        server = self.frontier.open_visit(self.now)
        if server:
            assert server.next_time <= self.now
            self.visits.append(server)

    @precondition(lambda self: self.visits)
    @rule(data=st.data())
    def request(self, data):
        server = data.draw(st.sampled_from(self.visits))
        if server.next_time <= self.now and (task := self.frontier.take(server, self.now)):
            assert task.url not in self.ended
            server.origin_pace.on_sent(self.now)
            server.address.pace.on_sent(self.now)
            self.in_hand.append(task)

    @precondition(lambda self: self.in_hand)
    @rule(data=st.data(), again=st.booleans())
    def response(self, data, again):
        task = self.in_hand.pop(data.draw(st.integers(0, len(self.in_hand) - 1)))
        if again:
            self.frontier.retry(task, self.now + 2, attempts=task.attempts + 1)
        else:
            self.frontier.finish(task)
            self.ended.add(task.url)

    @precondition(lambda self: self.visits)
    @rule(data=st.data())
    def close_visit(self, data):
        self.frontier.close_visit(self.visits.pop(data.draw(st.integers(0, len(self.visits) - 1))))

    @precondition(lambda self: self.visits)
    @rule(data=st.data(), address=st.sampled_from(["192.0.2.1", "192.0.2.2"]))
    def bind(self, data, address):
        self.frontier.bind(data.draw(st.sampled_from(self.visits)), address, self.now)

    @precondition(lambda self: self.visits)
    @rule(data=st.data())
    def widen(self, data):
        self.frontier.widen(data.draw(st.sampled_from(self.visits)))

    @rule(seconds=st.sampled_from([0.5, 1.0, 3.0]))
    def wait(self, seconds):
        self.now += seconds

    @rule()
    def commit(self):
        self.disk.commit(self.frontier)
        self.committed = (set(self.known), set(self.ended))

    @rule()
    def die(self):
        self.frontier = self.new()
        self.disk.restore(self.frontier)
        self.known, self.ended = map(set, self.committed)
        self.visits, self.in_hand = [], []

    @invariant()
    def every_url_is_somewhere(self):
        assert len(self.frontier.seen) == len(self.known)
        assert self.frontier.queued == len(self.known) - len(self.ended) - len(self.in_hand)
        assert self.frontier.queued == sum(
            server.queued for server in self.frontier.servers.values()
        )

    @invariant()
    def nobody_is_visited_too_often(self):
        for server in self.frontier.servers.values():
            assert server.visits == self.visits.count(server)
            assert server.visits <= server.limit

    def teardown(self):
        """Whatever happened, everything left can be crawled."""
        for task in self.in_hand:
            self.frontier.retry(task, self.now, attempts=0)
        for server in self.visits:
            self.frontier.close_visit(server)
        while self.frontier.queued:
            wakeup = self.frontier.wakeup()
            assert wakeup is not None
            self.now = max(self.now, wakeup)
            server = self.frontier.open_visit(self.now)
            while server and (task := self.frontier.take(server, self.now)):
                self.frontier.finish(task)
                self.ended.add(task.url)
            if server:
                self.frontier.close_visit(server)
        assert self.ended == self.known


TestFrontierMachine = FrontierMachine.TestCase
TestFrontierMachine.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


# Two servers at an address, one of which moves


def test_who_stays_at_an_address_is_visited_when_the_other_has_moved():
    """The one was being visited, and the other waited for the address."""
    frontier = Frontier(Disk().load)
    for host in "ab":
        frontier.offer(urls(host, 3), depth=0)
    a = frontier.open_visit(0.0)
    assert frontier.bind(a, "192.0.2.1", 0.0)
    b = frontier.open_visit(0.0)
    assert not frontier.bind(b, "192.0.2.1", 0.0)
    frontier.close_visit(b)
    assert frontier.open_visit(0.0) is None
    assert frontier.bind(a, "192.0.2.2", 0.0)
    assert frontier.open_visit(0.0) is b


def test_an_address_is_asked_as_often_as_its_servers_may_be():
    """A server that comes from an address with a faster neighbour does not bring its pace along."""
    frontier = Frontier(Disk().load)
    for host in "abc":
        frontier.offer(urls(host, 3), depth=0)
    rates = {"http://a.example": 600.0}
    frontier.change_rates(lambda key: rates.get(key, 60.0), 0.0)
    a, b, c = (frontier.open_visit(0.0) for _ in range(3))
    for server, address in [(a, "192.0.2.1"), (b, "192.0.2.1"), (c, "192.0.2.2"), (b, "192.0.2.2")]:
        frontier.bind(server, address, 0.0)
    assert a.address.pace.set_point == 600.0
    assert b.address is c.address
    assert b.address.pace.set_point == 60.0


# Errands


def test_an_errand_is_done_at_the_other_server_before_its_sender_is_visited():
    frontier = Frontier(Disk().load)
    frontier.offer(urls("a", 1), depth=0)
    a, b = frontier.open_visit(0.0), frontier.server("http://b.example")
    frontier.send(a, b)
    frontier.close_visit(a)
    assert frontier.is_absent(a)
    assert frontier.open_visit(0.0) is b, "though nothing waits for it"
    assert frontier.open_visit(0.0) is None
    assert frontier.take_errand(b) is a
    assert frontier.take_errand(b) is None
    frontier.back(a)
    frontier.close_visit(b)
    assert frontier.open_visit(0.0) is a
    assert frontier.open_visit(0.0) is None


def test_servers_may_send_each_other():
    frontier = Frontier(Disk().load)
    for host in "ab":
        frontier.offer(urls(host, 1), depth=0)
    a, b = frontier.open_visit(0.0), frontier.open_visit(0.0)
    frontier.send(a, b)
    frontier.send(b, a)
    for server in (a, b):
        frontier.close_visit(server)
    assert {frontier.open_visit(0.0), frontier.open_visit(0.0)} == {a, b}
    assert (frontier.take_errand(a), frontier.take_errand(b)) == (b, a)


# Cold servers


def test_who_is_no_more_has_no_errand_elsewhere():
    frontier = Frontier(None)
    frontier.offer(["https://a.example/1", "https://b.example/1"], depth=0)
    a, b = frontier.servers.values()
    frontier.send(a, b)
    frontier.forget(a)
    assert not frontier.has_errand(b)
    assert frontier.take_errand(b) is None
    assert frontier.open_visit(0.0) is b


def test_who_has_an_errand_at_a_server_that_is_no_more_is_visited_again():
    frontier = Frontier(None)
    frontier.offer(["https://a.example/1", "https://b.example/1"], depth=0)
    a, b = frontier.servers.values()
    frontier.send(a, b)
    frontier.forget(b)
    assert not frontier.is_absent(a)
    assert frontier.open_visit(0.0) is a


def test_a_server_that_was_not_asked_for_a_while_is_as_if_it_never_had_been():
    frontier = Frontier(Disk().load, set_point=60)
    frontier.offer(urls("a", 2), depth=0)
    a = frontier.open_visit(0.0)
    frontier.bind(a, "192.0.2.1", 0.0)
    a.origin_pace.on_sent(0.0)
    frontier.close_visit(a)
    frontier.cool(a)
    assert a.warm is not None, "its pause is not over"
    assert frontier.open_visit(5.0) is a
    frontier.cool(a)
    assert a.warm is not None, "it is visited"
    frontier.close_visit(a)
    frontier.cool(a)
    assert a.warm is None
    assert frontier.open_visit(5.0) is a
    assert frontier.bind(a, "192.0.2.1", 5.0)


def test_what_a_server_has_asked_for_stays():
    frontier = Frontier(Disk().load, set_point=60)
    frontier.offer(urls("a", 2), depth=0)
    a = frontier.open_visit(0.0)
    a.origin_pace.delay = 30.0
    frontier.close_visit(a)
    frontier.open_visit(500.0)
    frontier.close_visit(a)
    frontier.cool(a)
    assert a.origin_pace.delay == 30.0


def test_a_server_cools_under_a_slower_rate_too():
    frontier = Frontier(Disk().load, set_point=60)
    frontier.offer(urls("a", 2), depth=0)
    a = frontier.open_visit(0.0)
    frontier.change_rates(lambda _: 20.0, 0.0)
    a.origin_pace.on_sent(0.0)
    frontier.close_visit(a)
    assert frontier.open_visit(500.0) is a
    frontier.close_visit(a)
    frontier.cool(a)
    assert a.warm is None
    assert a.origin_pace.set_point == 20.0


def test_new_links_of_a_server_do_not_wait_for_its_retries():
    frontier = Frontier(Disk().load)
    frontier.offer(urls("a", 1), depth=0)
    server = frontier.open_visit(0.0)
    frontier.retry(frontier.take(server, 0.0), 100.0, attempts=1)
    frontier.close_visit(server)
    assert frontier.wakeup() == 100.0
    frontier.offer(urls("a", 2), depth=0)
    assert frontier.open_visit(1.0) is server


# Blocks that are done before those in front of them


def test_urls_that_wait_behind_a_block_that_is_gone_from_the_disk():
    """Its last URL was tried again, and ended after the block had left memory; nothing of it is read any more."""
    disk = Disk()
    frontier = Frontier(disk.load, resident_max=0)
    frontier.offer(urls("a", 1_069), depth=0)
    server = frontier.open_visit(0.0)
    for _ in range(1_063):
        frontier.finish(frontier.take(server, 0.0))
    frontier.retry(frontier.take(server, 0.0), 9.0, attempts=1)
    frontier.close_visit(server)
    disk.commit(frontier)
    server = frontier.open_visit(9.0)
    frontier.finish(frontier.take(server, 9.0))
    disk.commit(frontier)
    assert [frontier.take(server, 9.0).url for _ in range(5)] == urls("a", 1_069)[1_064:]


def test_urls_that_wait_in_front_of_a_block_that_is_done():
    """The only URL of the last block became worth more, and was fetched first."""
    disk, found = Disk(), urls("a", 1_066)
    frontier = Frontier(disk.load, policy=QualityFirst(), rescores=True)
    frontier.offer(found[:1_065], depth=0, scores=[0.5] * 1_065)
    frontier.rescore(found[1_064], 0.9)
    server = frontier.open_visit(0.0)
    best = frontier.take(server, 0.0)
    assert best.url == found[1_064]
    frontier.finish(best)
    disk.commit(frontier)
    frontier.offer(found[1_065:], depth=0, scores=[0.5])
    assert drain_visited(frontier, server) == found[:1_064] + found[1_065:]


def drain_visited(frontier, server):
    """Take all that waits for a server; return the URLs."""
    found = []
    while task := frontier.take(server, 0.0):
        found.append(task.url)
        frontier.finish(task)
    return found
