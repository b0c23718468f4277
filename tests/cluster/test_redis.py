"""What is Redis's own: who may be used, what goes wrong, how many words it takes."""

import asyncio
import random
import time
from contextlib import suppress
from pathlib import Path

import pytest
from redis.exceptions import ResponseError

from andante.cluster.exchange import (
    ClusterError,
    Ended,
    Give,
    Heard,
    Keep,
    LostError,
    Report,
    Take,
    UnreachableError,
)
from andante.cluster.redis import RedisStore, bloom, client, crawls, inspect, remove
from services.redis import redis_server
from support.cluster import Member, fingerprints, links, on_redis

A, B = "http://a.example", "http://b.example"


def joining(url, crawl="crawl", **options):
    """Join by a URL, and say no more."""

    async def main():
        store = RedisStore(url, crawl, timeout=1.0, **options)
        try:
            return await store.join("a", token="a", config=b"")
        finally:
            await store.close()

    return asyncio.run(main())


# Who may be used


@pytest.mark.parametrize(
    "url",
    [
        "",
        "host:6379",
        "http://:secret@host",
        "redis://",
        "redis://:secret@",
        "redis://:secret@host:port",
    ],
)
def test_no_url_of_a_redis(url):
    with pytest.raises(ClusterError, match=r"^the URL of Redis must be like redis://") as caught:
        joining(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", ["", "a b", "ä", "{a}", "a" * 65])
def test_no_name_of_a_crawl(redis, name):
    with pytest.raises(ClusterError, match="cannot be the name of a crawl"):
        joining(redis.url, name)


def test_nobody_there(running_redis):
    port = running_redis.place.free_port()
    with pytest.raises(
        ClusterError, match=f"^no answer from Redis at 127.0.0.1:{port}: "
    ) as caught:
        joining(f"redis://user:secret@127.0.0.1:{port}/0")
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_connection_that_has_closed_meanwhile_is_no_answer(redis, monkeypatch):
    """uvloop raises a RuntimeError where redis-py writes to one; it ended the task that read a server's log, which was then never crawled."""

    async def closed(*_, **__):
        raise RuntimeError("unable to perform operation on <TCPTransport closed=True>")

    async def main():
        store = RedisStore(redis.url, "crawl", timeout=1.0)
        try:
            await store.join("a", token="a", config=b"")
            monkeypatch.setattr("redis.asyncio.client.Pipeline.execute", closed)
            with pytest.raises(UnreachableError, match="no answer from Redis at"):
                await store.entries(A, 0, 1)
        finally:
            await store.close()

    asyncio.run(main())


def test_password_and_tls():
    with redis_server(password="p:a/s@s", tls=True) as server:
        ca = f"?ssl_ca_certs={server.tls.ca_file}"
        assert joining(server.url + ca).epoch == 1
        with pytest.raises(ClusterError, match="CERTIFICATE_VERIFY_FAILED"):
            joining(server.url)
        for url in (
            server.url.replace("p%3A", "secret"),
            server.url.replace(":p%3Aa%2Fs%40s@", ""),
        ):
            with pytest.raises(ClusterError, match="refuses the login") as caught:
                joining(url + ca)
            assert "secret" not in str(caught.value)
        assert server.control.dbsize() == 4  # of the one that was let in


def test_one_that_drops_keys():
    with redis_server(maxmemory=100_000_000, policy="allkeys-lru") as server:
        with pytest.raises(
            ClusterError, match=r"maxmemory-policy allkeys-lru\): set it to noeviction"
        ):
            joining(server.url)
        assert server.control.dbsize() == 0
        server.control.config_set("maxmemory", 0)
        assert joining(server.url).epoch == 1


def test_too_old(redis, monkeypatch):
    monkeypatch.setattr("andante.cluster.redis.client.VERSION_MIN", (99, 1))
    with pytest.raises(ClusterError, match=r"is [\d.]+; 99.1 or newer is needed"):
        joining(redis.url)


def test_valkey_says_in_words_of_its_own_that_it_is_a_cluster(masters, monkeypatch):
    ask = client.Redis.info

    async def info(self, *sections):
        told = await ask(self, *sections)
        return {name.replace("redis_mode", "server_mode"): told[name] for name in told}

    monkeypatch.setattr(client.Redis, "info", info)
    assert joining(masters.url).epoch == 1


def test_a_cluster_has_one_database(masters):
    with pytest.raises(
        ClusterError, match=r"SELECT is not allowed in cluster mode|has database 0 only"
    ):
        joining(masters.url.replace("/0", "/1"))


def test_another_seen_test_is_refused(redis):
    joining(redis.url)
    with pytest.raises(ClusterError, match=r"another seen test: exact, not bloom 0\.001"):
        joining(redis.url, seen="bloom", false_positives=1e-3)


# What goes wrong


def on(server, main, **options):
    """Run a test with two nodes on a Redis of its own."""

    async def run(crawl):
        return await main(*await crawl.join("a", "b"))

    return on_redis([server], server.url, timeout=0.3, **options).run(run)


async def finds_loss(member, *parts):
    """The connection has ended, which may be seen in time."""
    with suppress(UnreachableError), pytest.raises(LostError):
        await member.report(*parts)
    with pytest.raises(LostError):
        await member.again()


def test_one_that_hangs():
    with redis_server() as server:

        async def main(a, b):
            await a.report(links(A, 1))
            server.pause()
            with pytest.raises(UnreachableError, match="no answer from Redis at"):
                await a.report(links(A, 2))
            with pytest.raises(UnreachableError):
                await a.again()
            with pytest.raises(ValueError, match="report 2 has not been answered"):
                await a.store.exchange(Report(3, [links(A, 3)]))
            server.resume()
            answer = await a.again()
            assert answer.parts[0].fresh == b"\1"
            assert answer.totals.waiting == 2
            assert (
                await a.report(links(A, 3))
            ).totals.waiting == 3  # what had been sent to the hanging one is no harm

        on(server, main)


def test_restart_with_its_data():
    """Its scripts are gone, and come again."""
    with redis_server(appendonly=True) as server:

        async def main(a, b):
            await a.report(links(A, 1))
            server.kill()
            with pytest.raises(UnreachableError):
                await a.report(links(A, 2))
            server.start()
            assert (await a.again()).totals.waiting == 2
            assert (await b.report(links(A, 1))).totals.known == 2

        on(server, main)


def test_restart_without_its_data():
    with redis_server() as server:

        async def main(a, b):
            await a.report(links(A, 1))
            server.restart(empty=True)
            await finds_loss(a)
            assert not (await a.join("a", again=True)).joined.settled

        on(server, main)


def test_restart_from_an_old_copy():
    """What was acknowledged since is gone: that is found, and all is said anew. A node that is new then does not take it for a crawl that is as it was."""
    with redis_server(appendonly=False) as server:

        async def main(a, b):
            await a.report(links(A, 1))
            server.control.save()
            await a.report(links(A, 2), *(links(f"http://{n}.example", n) for n in range(500)))
            server.kill()
            server.start()
            await finds_loss(a, links(A, 3))
            await finds_loss(b)
            assert not (await b.join("b")).joined.settled
            assert not (await a.join("a", again=True)).joined.settled
            totals = (await a.report(links(A, 1))).totals
            assert (totals.waiting, totals.known) == (1, 1)
            assert len(list(server.control.scan_iter("*:log:*"))) == 1

        on(server, main)


@pytest.mark.parametrize("lost", [False, True])
def test_a_replica_takes_over(lost):
    """If it has not heard the last, that is found, as after an old copy."""
    with redis_server() as server, redis_server() as replica:

        async def main(a, b):
            await a.report(links(A, 1))
            replica.follow(server)
            if lost:
                replica.control.execute_command("REPLICAOF NO ONE")
                await a.report(links(A, 2))
            server.kill()
            replica.take_over(server)
            if lost:
                await finds_loss(a, links(A, 3))
                await a.join("a", again=True)
                assert not a.joined.settled
            else:
                with suppress(UnreachableError):
                    await a.report(links(A, 3))
                assert (await a.again()).totals.waiting == 2

        on(server, main)


def test_a_master_that_becomes_a_replica():
    """It takes nothing more, and closes no connection; who is sent on meets the new master at the old address."""
    with redis_server() as server, redis_server() as replica:

        async def main(a, b):
            await a.report(links(A, 1))
            replica.follow(server)
            port, server.port = server.port, replica.port
            replica.control.execute_command("REPLICAOF NO ONE")
            server.control.execute_command("REPLICAOF", replica.place.address, server.port)
            with pytest.raises(UnreachableError):
                await a.report(links(A, 2))
            server.control.config_set("port", server.place.free_port())
            replica.control.config_set("port", port)
            assert (await a.again()).totals.waiting == 2

        on(server, main)


@pytest.mark.parametrize("lost", range(3))
def test_one_master_without_its_data(masters, lost):
    """The rest is dropped, so that all is of one time."""

    async def main(crawl):
        a, b = await crawl.join("a", "b")
        found = [links(f"http://{n}.example", n) for n in range(300)]
        await a.report(*found)
        await b.report()
        masters.servers[lost].control.flushall()
        with pytest.raises(LostError):
            await a.report(*found)
        await a.join("a", again=True)
        with pytest.raises(LostError):
            await b.report(*found)
        assert not (await b.join("b", again=True)).joined.settled
        answer = await a.report(*found)
        assert {part.fresh for part in answer.parts} == {b"\1"}
        assert answer.totals.waiting == 300
        assert answer.generation == a.joined.generation == b.joined.generation

    on_redis(masters.servers, masters.url).run(main)


def test_full():
    """A report is refused as a whole, and carried out when there is room."""
    with redis_server() as server:

        async def main(a, b):
            before = await a.report(links(A, 1), Ended(A, fingerprints(1)))
            server.control.config_set("maxmemory", 1_000)
            part = links(B, 2, 3)
            with pytest.raises(ClusterError, match="is full: give it more memory"):
                await a.report(Take(1), Ended(A, b""), part, Keep(B, b"x"), beat=b"x")
            assert (await b.report()).totals == before.totals  # who only listens is heard
            server.control.config_set("maxmemory", 0)
            assert (await a.again()).parts[2].fresh == b"\1\1"

        on(server, main)


def test_mail_and_gifts_are_found_in_tables_that_are_mostly_empty():
    """Redis looks at a part of a table at a time, and lets none shrink while a child of it saves the data."""
    count, page = 24_000, 2_000

    def names(kind, first):
        return [f"http://{kind}{number}.example" for number in range(first, first + page)]

    async def main(crawl):
        a, b = await crawl.join("a", "b")
        for first in range(0, count, page):
            await a.report(*(links(server, server) for server in names("mail", first)))
            await b.report(*(links(server, server + "?more") for server in names("mail", first)))
            gifts = names("gift", first)
            await b.report(*(links(server, server) for server in gifts))
            await b.report(*(Give(server, a.epoch) for server in gifts))
        server.control.config_set("rdb-key-save-delay", 10_000)
        server.control.bgsave()
        for first in range(0, count, page):
            heard = [*names("mail", first), *names("gift", first)]
            await a.report(*(Heard(server, 2) for server in heard if "22222" not in server))
        answer = await a.report()
        assert server.control.info("persistence")["rdb_bgsave_in_progress"]
        assert len(answer.mail) == len(answer.grants) == 1, "all but number 22222 were heard"

    with redis_server() as server:
        on_redis([server], server.url).run(main)


@pytest.mark.parametrize(
    ("met", "error", "said"),
    [
        ("OOM command not allowed", ClusterError, "is full"),
        ("READONLY You can't write", UnreachableError, "no answer"),
        ("WRONGTYPE Operation", ClusterError, "refuses"),
    ],
)
def test_redis_6_says_in_other_words_what_a_script_has_met(monkeypatch, met, error, said):
    wrapped = f"Error running script (call to f_0e23): @user_script:384: @user_script: 384: -{met}."

    async def main():
        where = client.Client("redis://127.0.0.1/0", 1.0)
        monkeypatch.setattr(where, "_pipeline", answer)
        where._client = client.Redis()
        (told,) = await where.run([client.Call(client.script("common", "small"), "key", ())])
        assert type(told) is error
        assert said in str(told)

    async def answer(_):
        return [ResponseError(wrapped)]

    asyncio.run(main())


def test_two_crawls_do_not_mix(redis):
    async def main():
        one, two = (Member(RedisStore(redis.url, name)) for name in ("one", "one.0"))
        for each in (one, two):
            await each.join()
            assert (await each.report(links(A, 1))).parts[0].fresh == b"\1"
        assert await crawls(redis.url) == ["one", "one.0"]
        await remove(redis.url, "one")
        with pytest.raises(LostError):
            await one.report()
        assert (await two.report()).totals.waiting == 1
        await one.store.close()
        await two.store.close()

    asyncio.run(main())


# Looking from outside


@pytest.mark.parametrize("seen", ["exact", "bloom", "masters"])
def test_inspect_and_remove(request, seen):
    where = request.getfixturevalue("masters" if seen == "masters" else "redis")
    servers = where.servers if seen == "masters" else [where]

    async def main(crawl):
        a, b = await crawl.join("a", "b")
        await a.report(*(links(f"http://{n}.example", n, -n - 1) for n in range(1500)), beat=b"x")
        answer = await b.report(links(A, "p", takes=False), links(B, "q"))
        (name,) = await crawls(where.url)
        found = await inspect(where.url, name)
        assert found.totals == answer.totals
        assert found.nodes == answer.nodes
        assert found.servers == {a.epoch: 1500, b.epoch: 1, 0: 1}
        assert found.waiting == {a.epoch: 3000, b.epoch: 1, 0: 1}
        assert found.seen == ("bloom 1e-09" if seen == "bloom" else "exact")
        assert abs(found.begun - time.time()) < 60
        assert found.memory > 1_000_000
        with pytest.raises(ClusterError, match="there is no crawl 'other'"):
            await inspect(where.url, "other")
        await remove(where.url, name)
        assert await crawls(where.url) == []
        assert sum(server.control.dbsize() for server in servers) == 0

    on_redis(servers, where.url, **({"seen": seen} if seen != "masters" else {})).run(main)


def test_all_of_a_large_crawl_is_removed(redis):
    """The table of its servers empties page by page, and is mostly empty long before the end."""

    async def main(crawl):
        a = await crawl.join("a")
        for first in range(0, 20_000, 1_000):
            found = (links(f"http://{n}.example", n) for n in range(first, first + 1_000))
            await a.report(*found)
        (name,) = await crawls(redis.url)
        await remove(redis.url, name)
        assert redis.control.dbsize() == 0

    on_redis([redis], redis.url).run(main)


# Few words


def test_a_report_is_one_round_trip(redis):
    async def main(crawl):
        a = await crawl.join("a")
        await a.report()
        redis.control.config_resetstat()
        for number in range(10):
            found = [links(f"http://{n}.example", (number, n)) for n in range(50)]
            await a.report(*found, Take(10), Keep(A, b"x"), beat=b"beat")
        stats = redis.control.info("commandstats")
        outside = {
            name: each["calls"] for name, each in stats.items() if name.startswith("cmdstat_eval")
        }
        assert outside == {"cmdstat_evalsha": 10}

    on_redis([redis], redis.url).run(main)


def test_an_answer_is_small_though_much_is_kept_of_servers(redis):
    """What does not fit comes with the next one."""
    servers = [f"http://{n}.example" for n in range(1200)]

    async def main(crawl):
        a, b = await crawl.join("a", "b")
        for n, server in enumerate(servers):
            await a.report(links(server, n), Keep(server, bytes(2000)), Give(server))
        taken = []
        for _ in range(3):
            grants = await b.say(Take(10**6))
            assert sum(len(grant.state) for grant in grants) < 1_010_000
            taken += [grant.server for grant in grants]
        assert sorted(taken) == sorted(servers)
        await b.report(*(Give(server, a.epoch) for server in servers))
        given = set()
        while grants := (await a.report(*(Heard(server, 1) for server in given))).grants:
            assert sum(len(grant.state) for grant in grants) < 1_010_000
            given.update(grant.server for grant in grants)
        assert given == set(servers)

    on_redis([redis], redis.url).run(main)


# The seen tests


@pytest.mark.parametrize("seen", ["exact", "bloom"])
def test_many_urls(redis, seen):
    """Over many splits and some layers: all are new once, and known from then on."""
    numbers = random.Random(1)
    every = [numbers.randbytes(8) for _ in range(36_000)]
    every[:4] = [b"\0" * 8, b"\xff" * 8, b"\0" * 7 + b"\x80", b"\x80" + b"\0" * 7]

    async def main(crawl):
        a = await crawl.join("a")
        for fresh in (b"\1", b"\0"):
            for first in range(0, len(every), 3000):
                part = links(A)
                part = type(part)(A, b"".join(every[first : first + 3000]), b"")
                assert (await a.say(part)).fresh == fresh * 3000
        assert (await a.report()).totals.known == len(every)

    on_redis([redis], redis.url, seen=seen).run(main)
    if seen == "exact":
        keys = list(redis.control.scan_iter("*:seen:*", count=1000))
        assert {redis.control.object("encoding", key) for key in keys} == {b"intset"}
        assert sum(map(redis.control.scard, keys)) == len(every)


@pytest.mark.parametrize("rate", [1e-2, 1e-3, 1e-4])
def test_the_bloom_filter_errs_as_often_as_it_says(redis, rate):
    """Within four standard deviations; when its layers are full to differing degrees."""
    numbers = random.Random(2)

    async def main(crawl):
        a = await crawl.join("a")
        asked = wrong = 0
        expected = 0.0
        known = 0
        while known < 60_000:
            part = type(links(A))(A, numbers.randbytes(8 * 5000), b"")
            answer = await a.report(part)
            errors = answer.parts[0].fresh.count(0)
            expected += 5000 * (bloom.errs(rate, known) + answer.totals.false_positives) / 2
            asked, wrong, known = asked + 5000, wrong + errors, answer.totals.known
            assert answer.totals.false_positives <= rate
        assert abs(wrong - expected) < 4 * expected**0.5 + 1

    on_redis([redis], redis.url, seen="bloom", false_positives=rate).run(main)


def test_layers_of_the_bloom_filter():
    layers = [layer for layer, _ in zip(bloom.layers(1e-9), range(40), strict=False)]
    assert [layer.capacity for layer in layers[:4]] == [32_768, 19_660, 31_456, 50_330]
    assert sum(layer.errs(layer.capacity) for layer in layers) < 1e-9
    assert max(layer.bits for layer in layers) == 8 * 2**25
    assert bloom.errs(1e-9, 0) == 0.0
    assert bloom.errs(1e-9, 10**8) < 1e-9


def test_a_user_who_may_do_no_more_than_the_how_to_says():
    """Of docs/how-to/cluster.md."""
    may = "~andante:* +@read +@write +@scripting +@connection +info +time +cluster"
    assert may in (Path(__file__).parents[2] / "docs/how-to/cluster.md").read_text()

    async def main(url):
        a = await Member(RedisStore(url, "crawl")).join("a")
        assert (await a.say(links(A, 1))).taken
        await a.store.tell("https://a.example/")
        await a.store.leave()
        await a.store.close()
        assert await crawls(url) == ["crawl"]
        assert (await inspect(url, "crawl")).totals.known == 1
        await remove(url, "crawl")

    with redis_server() as server:
        server.control.execute_command("ACL SETUSER crawl on >secret", *may.split())
        asyncio.run(main(server.url.replace("redis://", "redis://crawl:secret@")))
        assert server.control.dbsize() == 0
