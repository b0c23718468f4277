"""IP addresses, which are owned as servers are. How servers come and go is seen in the simulator."""

import time
from math import inf

import pytest

from andante.cluster.frontier import ADDRESS, SharedFrontier
from andante.frontier.block import Link
from andante.frontier.frontier import Changes
from support.disk import Disk

A, B, C = (f"http://{name}.example" for name in "abc")
HERE = "192.0.2.1"


def node(**options):
    """Return a node's frontier with three servers of 1, 2 and 3 URLs, of which it asks for no address."""
    frontier = SharedFrontier(None, found=None, recent=None, set_point=60.0, **options)
    for count, key in enumerate((A, B, C), 1):
        frontier.admit(key, [(Link(f"/{number}", 1), 5) for number in range(count)])
    return frontier


@pytest.fixture
def frontier():
    """Of a node at which servers A and B have been found at one address."""
    frontier = node()
    both = [frontier.servers[A], frontier.servers[B]]
    for server in both:
        assert not frontier.bind(server, HERE, 0.0)
    frontier.own(ADDRESS + HERE, both, 10.0)
    for server in both:
        frontier.back(server)
    return frontier


def test_an_address_that_may_have_been_anothers_is_left_alone_for_a_pause(frontier):
    """Also by a server that is found there only later."""
    late = frontier.servers[C]
    assert frontier.bind(late, HERE, 10.1)
    assert late.next_time == 11.0
    assert frontier.bind(frontier.servers[A], HERE, 10.2)
    assert frontier.servers[A].next_time == 11.0


def test_servers_at_one_address_are_one_stone(frontier):
    assert list(frontier.stones()) == [(A, 3, False), (C, 3, False)]


def test_a_server_that_another_node_found_at_an_address_goes_with_the_others_there(frontier):
    """Else it would be given away alone, come back as its address is here, be given away, and so on."""
    frontier.expect(frontier.servers[C], "192.0.2.2")
    assert [urls for _, urls, _ in frontier.stones()] == [3, 3], "that one is not the node's"
    frontier.expect(frontier.servers[C], HERE)
    assert list(frontier.stones()) == [(A, 6, False)]


def test_where_a_server_was_found_is_known_also_if_it_is_not_visited_there(frontier):
    assert frontier.address(frontier.servers[A]) == HERE
    assert frontier.address(frontier.servers[C]) == ""
    assert not frontier.bind(frontier.servers[C], "192.0.2.2", 0.0)
    assert frontier.address(frontier.servers[C]) == "192.0.2.2"


def test_blocks_of_a_server_that_goes_during_a_commit_are_not_kept():
    frontier = node()
    changes = frontier.changes()
    assert frontier.withdraw(frontier.servers[C])
    frontier.committed(changes)
    assert len(frontier._spare) == 2
    assert frontier.resident == frontier.queued == 3


def test_nothing_is_kept_of_a_server_that_goes_though_it_is_on_disk_and_some_was_read_again():
    disk = Disk()
    frontier = SharedFrontier(disk.load, found=None, recent=None, resident_max=100)
    frontier.admit(A, [(Link(f"/{number}", 1), 5) for number in range(1_500)])
    disk.commit(frontier)
    server = frontier.open_visit(0.0)
    task = frontier.take(server, 0.0)
    assert 0 < frontier.resident <= 200
    assert [link.target for link, _ in frontier.waiting(server)] == [f"/{n}" for n in range(1_500)]
    frontier.close_visit(server)
    assert frontier.withdraw(server)
    frontier.finish(task)
    disk.commit(frontier)
    assert (frontier.resident, disk.rows) == (0, {})


def test_to_lose_thousands_of_servers_takes_no_time_for_each_that_is_left():
    """It took 15 s for 2,000 servers with 20 URLs each, where URLs are graded anew."""
    frontier = SharedFrontier(None, found=None, recent=None, rescores=True)
    for number in range(1_500):
        key = f"http://{number}.example"
        frontier.admit(key, [(Link(f"/{page}", 1), 5) for page in range(10)])
        frontier.finish(frontier.take(frontier.servers[key], inf))
    began = time.monotonic()
    for server in list(frontier.servers.values()):
        frontier.withdraw(server)
    frontier.rescore("http://7.example/7", 9.0)  # it waits elsewhere
    changes = frontier.changes()
    assert time.monotonic() - began < 1.0
    assert changes == Changes([], [], [], changes.fingerprints)
    assert not frontier._waiting
