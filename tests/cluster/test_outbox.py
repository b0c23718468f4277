"""The outbox: what was heard may have to be said again, and reports stay small."""

from andante.cluster.exchange import Known, Links, Marked, Own, Rewrite
from andante.cluster.outbox import RECALL_MAX, REPORT_MAX, Outbox
from andante.frontier.block import Link
from andante.frontier.seen import WIDTH


def links(server, count):
    return Links(server, bytes(WIDTH * count), b"packed")


def said(outbox):
    """Send a report and have it heard; return what it says."""
    report = outbox.report(b"")
    outbox.heard([Marked(1, b"", 1)] * len(report.parts))
    return list(report.parts)


def test_a_store_that_has_lost_its_data_is_told_again_what_it_has_heard():
    outbox = Outbox()
    outbox.found("http://a.example", bytes(WIDTH), Link("/1", 1, ""), 0)
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


def test_claims_are_not_said_again():
    outbox = Outbox()
    outbox.say(Links("ip 192.0.2.1", b"", b""))
    said(outbox)
    outbox.recall()
    assert not said(outbox)


def test_only_the_last_are_remembered():
    outbox = Outbox()
    for number in range(5):
        outbox.remember(links(f"http://{number}.example", RECALL_MAX // 3))
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
