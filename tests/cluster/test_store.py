"""What every store does, sentence by sentence: the one in memory, and Redis alone, with a Bloom filter, and in cluster mode."""

import pytest

from andante.cluster.exchange import (
    ANSWER_MAX,
    POOL,
    Ended,
    Entry,
    Give,
    Grant,
    Heard,
    Keep,
    Mail,
    Marked,
    Report,
    Rewrite,
    Take,
)
from support.cluster import fingerprints, links

A, B, C = "http://a.example", "https://b.example:8443", "http://ünï.example"


def servers(grants):
    return [grant.server for grant in grants]


# Links


def test_links_never_seen_before_are_marked_and_appended(backend):
    async def main(crawl):
        a = await crawl.join("a")
        assert await a.say(links(A, 1, 2, 1)) == Marked(a.epoch, b"\1\1\0", 1, taken=True)
        assert await a.say(links(A, 2, 3)) == Marked(a.epoch, b"\0\1", 2)
        assert await a.say(links(A, 4, 5)) == Marked(a.epoch, b"\1\1", 3)
        assert await a.store.entries(A, 0, 10) == [
            Entry(a.epoch, entry=b"1 2 1", fresh=b"\1\1\0"),
            Entry(a.epoch, entry=b"2 3", fresh=b"\0\1"),
            Entry(a.epoch, entry=b"4 5"),
        ]

    backend.run(main)


def test_links_that_were_all_seen_leave_no_trace_but_can_take(backend):
    async def main(crawl):
        a, b = await crawl.join("a", "b")
        assert await a.say(links(A, 1, takes=False)) == Marked(POOL, b"\1", 1)
        answer = await b.report(links(A, 1))
        assert answer.parts == [Marked(POOL, b"\0", 1)]  # it is in the pool
        assert (answer.totals.known, answer.totals.changes) == (1, 1)
        assert await b.say(links(B, 8)) == Marked(b.epoch, b"\1", 1, taken=True)
        assert await b.say(Ended(B, fingerprints(8)), Give(B)) == [True, True]
        assert await a.say(links(B, 8)) == Marked(
            a.epoch, b"\0", 2, taken=True
        )  # nobody's, and not in the pool

    backend.run(main)


def test_a_mask_longer_than_a_byte(backend):
    async def main(crawl):
        a = await crawl.join("a")
        await a.say(links(A, *range(0, 1000, 3)))
        marked = await a.say(links(A, *range(1000)))
        assert marked.fresh == bytes(number % 3 != 0 for number in range(1000))
        (_, entry) = await a.store.entries(A, 0, 2)
        assert entry.fresh == marked.fresh

    backend.run(main)


def test_anyone_may_say_links_and_takes_only_what_nobody_has(backend):
    async def main(crawl):
        a, b = await crawl.join("a", "b")
        assert (await a.say(links(A, 1))).owner == a.epoch
        assert (await b.say(links(A, 2))).owner == a.epoch
        assert (await a.say(links(B, 3, takes=False))).owner == POOL
        assert (await b.say(links(B, 4))).owner == POOL  # in the pool: only Take gives it

    backend.run(main)


def test_a_server_with_the_state_of_its_last_owner(backend):
    """Whose finder it is, hears how it was left."""

    async def main(crawl):
        a, b = await crawl.join("a", "b")
        await a.say(links(A, 1), Keep(A, b"\0wait\xff"), Ended(A, fingerprints(1)), Give(A))
        marked = await b.say(links(A, 2))
        assert (marked.owner, marked.state, marked.length) == (b.epoch, b"\0wait\xff", 3)
        assert 0 <= marked.aged < 60
        assert (await b.say(links(A, 3))).state == b""

    backend.run(main)


# What only the owner may say


@pytest.mark.parametrize(
    "part",
    [Ended(A, fingerprints(1)), Keep(A, b"x"), Give(A), Rewrite(A, []), Ended("no such", b"")],
    ids=lambda part: f"{type(part).__name__} {part.server}",
)
def test_only_the_owner_may_say(backend, part):
    async def main(crawl):
        a, b = await crawl.join("a", "b")
        await a.say(links(A, 1))
        assert await b.say(part) is False
        assert (await a.report()).totals.waiting == 1
        assert await a.store.entries(A, 0, 10) == [Entry(a.epoch, entry=b"1")]

    backend.run(main)


def test_what_has_ended_does_not_wait(backend):
    async def main(crawl):
        a = await crawl.join("a")
        answer = await a.report(links(A, 1, 2, 3), Ended(A, fingerprints(2, 3)))
        assert answer.parts[1] is True
        assert answer.totals.waiting == 1
        assert await a.store.entries(A, 1, 1) == [Entry(a.epoch, fingerprints(2, 3))]

    backend.run(main)


def test_rewrite_leaves_what_waits(backend):
    async def main(crawl):
        a = await crawl.join("a")
        await a.say(links(A, 1, 2, 3), Ended(A, fingerprints(1)))
        assert await a.say(Rewrite(A, [(fingerprints(2), b"two"), (fingerprints(3), b"three")]))
        two, three = Entry(a.epoch, entry=b"two"), Entry(a.epoch, entry=b"three")
        assert await a.store.entries(A, 0, 9) == [two, three]
        assert (await a.report()).totals.waiting == 2
        assert (await a.say(links(A, 4))).length == 3
        await a.say(Rewrite(A, []))
        assert await a.store.entries(A, 0, 9) == []
        assert (await a.report()).totals.waiting == 0

    backend.run(main)


def test_rewrite_marks_seen(backend):
    async def main(crawl):
        a = await crawl.join("a")
        await a.say(links(A), Rewrite(A, [(fingerprints(1, 2), b"12")]))
        answer = await a.report(links(A, 1, 2, 3))
        assert answer.parts == [Marked(a.epoch, b"\0\0\1", 2)]
        assert (answer.totals.waiting, answer.totals.known) == (3, 3)

    backend.run(main)


def test_rewrite_is_refused_while_there_is_mail(backend):
    async def main(crawl):
        a, b = await crawl.join("a", "b")
        await a.say(links(A, 1))
        await b.say(links(A, 2))
        assert await a.say(Rewrite(A, [])) is False
        assert len(await a.store.entries(A, 0, 9)) == 2
        assert await a.say(Heard(A, 2), Rewrite(A, [])) == [None, True]

    backend.run(main)


# The pool


def test_given_to_the_pool_and_taken(backend):
    async def main(crawl):
        a, b = await crawl.join("a", "b")
        await a.say(links(A, 1, 2), Keep(A, b"state\0"))
        answer = await a.report(Give(A))
        assert answer.parts == [True]
        assert answer.totals.pool == 1
        (grant,) = await b.say(Take(1))
        assert (grant.server, grant.waiting, grant.state) == (A, 2, b"state\0")
        assert 0 <= grant.aged < 60
        answer = await b.report(Take(1))
        assert answer.parts == [[]]
        assert answer.totals.pool == 0
        assert answer.grants == []  # what was taken is told once
        assert await b.store.entries(A, 0, 1) == [Entry(a.epoch, entry=b"1 2")]
        assert await b.say(Ended(A, fingerprints(1))) is True
        assert await a.say(Ended(A, fingerprints(1))) is False

    backend.run(main)


def test_take_as_many_as_are_wanted_first_in_first_out(backend):
    async def main(crawl):
        a, b = await crawl.join("a", "b")
        names = [f"http://{number}.example" for number in range(20)]
        for number, name in enumerate(names):
            await a.say(links(name, (number, 0), (number, 1)), Give(name))
        got = []
        for part, expected in [
            (Take(5), 3),
            (Take(0), 0),
            (Take(100, servers=2), 2),
            (Take(1), 1),
            (Take(10**12), 14),
        ]:
            grants = await b.say(part)
            assert len(grants) == expected
            assert all(grant.waiting == 2 and grant.state == b"" for grant in grants)
            got += servers(grants)
        assert sorted(got) == sorted(names)
        if crawl.is_ordered:
            assert got == names

    backend.run(main)


def test_the_pool_does_not_list_what_has_no_urls(backend):
    async def main(crawl):
        a, b = await crawl.join("a", "b")
        await a.say(links(A, 1), Ended(A, fingerprints(1)))
        answer = await a.report(Give(A))
        assert answer.totals.pool == 0
        assert await b.say(Take(1)) == []
        assert (await b.say(links(A, 2))) == Marked(b.epoch, b"\1", 3, taken=True)

    backend.run(main)


def test_links_for_a_server_in_the_pool_go_with_it(backend):
    async def main(crawl):
        a, b = await crawl.join("a", "b")
        await a.say(links(A, 1), Give(A))
        await a.say(links(A, 2))
        (grant,) = await b.say(Take(1))
        assert grant.waiting == 2
        assert len(await b.store.entries(A, 0, 9)) == 2
        assert (await b.report()).mail == []

    backend.run(main)


# Mail and gifts


def test_what_others_append_is_mail_until_heard(backend):
    async def main(crawl):
        a, b = await crawl.join("a", "b")
        await a.say(links(A, 1), links(B, 7))
        await b.say(links(A, 2))
        await b.say(links(A, 1))  # nothing new: no mail
        mail = [Mail(A, 1, [Entry(b.epoch, entry=b"2")])]
        assert (await a.report()).mail == mail
        assert (await a.report()).mail == mail
        await b.say(links(A, 3))
        await a.say(links(A, 4))
        answer = await a.report(Heard(A, 2))
        assert answer.parts == [None]
        assert answer.mail == [Mail(A, 2, [Entry(b.epoch, entry=b"3"), Entry(a.epoch, entry=b"4")])]
        assert (await a.report(Heard(A, 1))).mail == answer.mail
        assert (await a.report(Heard(A, 4))).mail == []
        assert (await b.report(Heard(A, 4), Heard("no such", 1))).mail == []

    backend.run(main)


def test_mail_comes_in_answers_of_bounded_size(backend):
    async def main(crawl):
        a, b = await crawl.join("a", "b")
        await a.say(*(links(server, server) for server in (A, B)))
        for server in (A, B):
            for first in range(0, ANSWER_MAX, 100):
                await b.say(*(links(server, (server, n)) for n in range(first, first + 100)))
        heard = {A: 1, B: 1}
        while mail := (await a.report()).mail:
            assert sum(len(letter.entries) for letter in mail) <= ANSWER_MAX * 2 - 1
            for letter in mail:
                assert letter.start == heard[letter.server]
                heard[letter.server] += len(letter.entries)
                await a.say(Heard(letter.server, heard[letter.server]))
        assert heard == {A: ANSWER_MAX + 1, B: ANSWER_MAX + 1}

    backend.run(main)


def test_given_to_another_node(backend):
    async def main(crawl):
        a, b, c = await crawl.join("a", "b", "c")
        await a.say(links(A, 1), Keep(A, b"state"))
        await a.say(Give(A, b.epoch))
        for _ in range(2):
            (grant,) = (await b.report()).grants
            assert (grant.server, grant.waiting, grant.state) == (A, 1, b"state")
        await c.say(links(A, 2))
        answer = await b.report(Heard(A, 1))
        assert answer.grants == []
        assert answer.mail == [Mail(A, 1, [Entry(c.epoch, entry=b"2")])]

    backend.run(main)


def test_mail_does_not_outlive_ownership(backend):
    async def main(crawl):
        a, b = await crawl.join("a", "b")
        await a.say(links(A, 1))
        await b.say(links(A, 2))
        answer = await a.report(Give(A, b.epoch))
        assert answer.mail == []
        (grant,) = (await b.report()).grants
        assert grant == Grant(A, 2, b"", 0.0)

    backend.run(main)


def test_many_grants_come_in_answers_of_bounded_size(backend):
    async def main(crawl):
        a, b = await crawl.join("a", "b")
        names = {f"http://{number}.example" for number in range(ANSWER_MAX + 200)}
        await a.say(*(links(name, name) for name in names))
        await a.store.bury(b.epoch)
        b = await crawl.join("b")
        await b.store.bury(a.epoch, to=b.epoch)
        got = set()
        while grants := (await b.report()).grants:
            got.update(servers(grants))
            await b.say(*(Heard(grant.server, 1) for grant in grants))
        assert got == names

    backend.run(main)


# Reports


def test_a_report_counts_once_however_often_it_is_sent(backend):
    async def main(crawl):
        a, b = await crawl.join("a", "b")
        await b.say(links(B, 7), Give(B))
        first = await a.report(links(A, 1, 2), Ended(A, fingerprints(1)), Take(1), beat=b"x")
        second = await a.again()
        assert second.parts == first.parts
        assert second.totals == first.totals
        assert second.nodes[a.epoch].count == 1
        assert len(await a.store.entries(A, 0, 9)) == 2

    backend.run(main)


def test_an_earlier_report_is_refused(backend):
    async def main(crawl):
        a = await crawl.join("a")
        await a.report(links(A, 1))
        await a.report(links(A, 2))
        with pytest.raises(ValueError, match="report 1 comes after report 2"):
            await a.store.exchange(Report(1, [links(A, 3)]))
        assert (await a.report()).totals.waiting == 2

    backend.run(main)


def test_parts_are_carried_out_in_order(backend):
    async def main(crawl):
        a = await crawl.join("a")
        answers = await a.say(
            links(A, 1),
            Ended(A, fingerprints(1)),
            Give(A),
            Ended(A, b""),
            links(A, 2),
            Keep(A, b"k"),
            Heard(A, 3),
        )
        assert answers[1:4] == [True, True, False]
        assert answers[4] == Marked(a.epoch, b"\1", 3, taken=True)
        assert answers[5:] == [True, None]

    backend.run(main)


def test_beats_are_counted_and_seen_by_all(backend):
    async def main(crawl):
        a, b = await crawl.join("ä" * 100, "b")
        await a.report(beat=b"\0one")
        await a.report()
        nodes = (await b.report(links(A, 1), beat=b"two")).nodes
        assert [(node.name, node.count, node.beat) for node in nodes.values()] == [
            ("ä" * 100, 1, b"\0one"),
            ("b", 1, b"two"),
        ]

    backend.run(main)


def test_any_bytes_and_names_and_sizes(backend):
    async def main(crawl):
        a = await crawl.join("a")
        entry = bytes(range(256)) * 1000
        part = links(C, *range(300))
        marked = await a.say(type(part)(C, part.fingerprints, entry), Keep(C, entry))
        assert marked[0].fresh == b"\1" * 300
        assert await a.store.entries(C, 0, 1) == [Entry(a.epoch, entry=entry)]
        await a.say(Give(C))
        assert (await a.say(Take(1)))[0].state == entry

    backend.run(main)


def test_entries_from_any_number_on(backend):
    async def main(crawl):
        a = await crawl.join("a")
        await a.say(*(links(A, number) for number in range(300)))
        assert [entry.entry for entry in await a.store.entries(A, 290, 5)] == [
            b"290",
            b"291",
            b"292",
            b"293",
            b"294",
        ]
        assert len(await a.store.entries(A, 290, 100)) == 10
        assert await a.store.entries(A, 300, 5) == await a.store.entries(B, 0, 5) == []

    backend.run(main)


def test_totals(backend):
    async def main(crawl):
        a, b = await crawl.join("a", "b")
        await a.say(links(A, 1, 2), links(B, 3), Ended(A, fingerprints(1)))
        totals = (await b.report(links(C, 4, takes=False))).totals
        assert (totals.waiting, totals.known, totals.pool) == (3, 4, 1)
        assert totals.false_positives < 1e-9
        assert (await b.report(links(C, 4))).totals.changes == totals.changes
        assert (await b.report(links(C, 5))).totals.changes > totals.changes

    backend.run(main)
