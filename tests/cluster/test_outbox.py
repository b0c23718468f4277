"""What a node says first, and how much at once. That all of it is said in the end is seen in the simulator."""

import pytest

from andante.cluster.exchange import Heard, Keep, Known, Links, Own, Rewrite
from andante.cluster.outbox import RECALL_MAX, REPORT_MAX, Outbox
from andante.frontier.block import Link
from andante.frontier.seen import WIDTH


def found(outbox, count, server="http://x.example"):
    for number in range(count):
        outbox.found(server, bytes((number,)) * 8, Link(f"/{number}", 1), 5)


def said(outbox):
    """Return the parts of the next report, which is answered."""
    parts = list(outbox.report(b"").parts)
    outbox.heard([None] * len(parts))
    return parts


@pytest.mark.parametrize("most", [1, 3, 10, 1_000])
def test_a_report_has_about_so_many_links_at_most(most):
    outbox = Outbox(most)
    found(outbox, 20)
    counts = []
    while outbox:
        counts.append(sum(len(part.fingerprints) // 8 for part in said(outbox)))
    assert sum(counts) == 20
    assert max(counts) == min(most, 20)
    assert outbox.waiting == 0


def test_it_is_behind_while_more_waits_than_a_report_takes():
    outbox = Outbox(10)
    found(outbox, 9)
    assert not outbox.is_behind
    found(outbox, 11, "http://y.example")
    assert outbox.is_behind
    said(outbox)
    assert outbox.is_behind
    said(outbox)
    assert not outbox.is_behind


def test_what_is_kept_of_servers_counts_by_its_size():
    outbox = Outbox(10)
    for _ in range(5):
        outbox.say(Keep("http://x.example", bytes(500)))
    assert [len(said(outbox)) for _ in range(4)] == [2, 2, 1, 0]


def test_what_was_heard_goes_first_and_takes_no_room():
    outbox = Outbox(1)
    found(outbox, 3)
    outbox.seal()
    heard = [Heard("http://x.example", 7), Heard("http://y.example", 2)]
    outbox.acknowledge(heard)
    first = said(outbox)
    assert sorted(first[:2], key=repr) == heard
    assert isinstance(first[2], Links)
    assert len(first) == 3


def test_it_goes_behind_a_log_that_is_to_be_written_anew():
    """The log was made without what has been heard since: the store is to refuse it."""
    outbox = Outbox()
    rewrite, heard = Rewrite("http://x.example", []), Heard("http://x.example", 7)
    outbox.say(rewrite)
    outbox.say(Keep("http://x.example", b""))
    outbox.acknowledge([heard])
    assert said(outbox)[::2] == [rewrite, heard]


def test_a_store_that_has_lost_its_data_is_told_again_what_it_has_heard():
    outbox = Outbox()
    found(outbox, 1)
    (first,) = said(outbox)
    outbox.restart()
    outbox.hold()
    outbox.recall()
    outbox.say_first(Own("http://b.example"))
    assert said(outbox) == [Own("http://b.example")], "before all nodes have said what they have"
    outbox.release()
    assert said(outbox) == [first]
    outbox.recall()
    assert said(outbox) == [first], "it was heard anew, and may be lost anew"


def test_a_claim_goes_with_its_log():
    outbox = Outbox(1)
    claims = [
        [Own(server), Rewrite(server, [(bytes(WIDTH), b"packed")])]
        for server in ("http://a.example", "http://b.example")
    ]
    for claim in claims:
        for part in claim:
            outbox.say_first(part)
    outbox.say_first(Known(bytes(WIDTH)))
    assert [said(outbox), outbox.is_claiming] == [claims[0], True]
    assert [said(outbox), outbox.is_claiming, outbox.is_telling] == [claims[1], False, True]
    said(outbox)
    assert not outbox.is_telling


def test_what_is_not_to_be_told_any_more_is_not_waited_for():
    outbox = Outbox()
    outbox.say_first(Own("http://a.example"))
    outbox.drop(Own)
    assert not outbox.is_telling


def test_claims_are_not_said_again():
    outbox = Outbox()
    outbox.say(Links("ip 192.0.2.1", b"", b""))
    said(outbox)
    outbox.recall()
    assert not said(outbox)


def test_only_the_last_are_remembered():
    outbox = Outbox()
    for number in range(5):
        third = bytes(WIDTH * (RECALL_MAX // 3))
        outbox.remember(Links(f"http://{number}.example", third, b"packed"))
    outbox.recall()
    parts = [part for _ in range(5) for part in said(outbox)]
    assert [part.server for part in parts] == [f"http://{n}.example" for n in (2, 3, 4)]


def test_what_a_node_holds_is_said_in_reports_of_some_size():
    outbox = Outbox()
    outbox.hold()
    entry = (bytes(WIDTH * 1_000), b"packed")
    for number in range(3):
        outbox.say_first(Rewrite(f"http://{number}.example", [entry] * 3))
    for _ in range(3):
        outbox.say_first(Known(bytes(WIDTH * REPORT_MAX)))
    assert [len(said(outbox)) for _ in range(5)] == [2, 2, 1, 1, 0]
