from __future__ import annotations

import asyncio
import gc

import pytest
import uvloop

from andante.fetch import Failure, Outcome, dns
from andante.fetch.dns import ADDRESSES_MAX, Resolver, parse_override
from support.nameserver import NXDOMAIN, SERVFAIL, nameserver

ZONE = {
    "four.example": (0, ["192.0.2.1"]),
    "six.example": (0, ["2001:db8::1"]),
    "both.example": (300, ["192.0.2.1", "192.0.2.2", "2001:db8::1"]),
    "long.example": (10**6, ["192.0.2.1"]),
    "many.example": (300, [f"192.0.2.{number}" for number in range(50)]),
    "empty.example": (300, []),
    "broken.example": SERVFAIL,
    "denied.example": NXDOMAIN,
    "silent.example": None,
}


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def run(body, *, clock: Clock | None = None, **options):
    """Run ``body(resolver, server)`` against the zone."""

    async def main():
        async with nameserver(ZONE) as server:
            resolver = Resolver(nameservers=[server.address], clock=clock or Clock(), **options)
            try:
                return await body(resolver, server)
            finally:
                await resolver.close()
                gc.collect()  # nothing may be left that complains when it is collected

    return uvloop.run(main())


def resolve(host: str, port: int = 80, **options) -> dns.Answer:
    async def body(resolver, _):
        return await resolver.resolve(host, port)

    return run(body, **options)


@pytest.mark.parametrize(
    ("host", "addresses"),
    [
        ("four.example", ["192.0.2.1"]),
        ("six.example", ["2001:db8::1"]),
        ("127.0.0.1", ["127.0.0.1"]),
        ("::1", ["::1"]),
        ("localhost", ["127.0.0.1", "::1"]),
        ("deep.down.localhost", ["127.0.0.1", "::1"]),
    ],
)
def test_names_and_literals(host, addresses):
    assert resolve(host) == addresses


def test_all_addresses_of_both_families_are_given_once():
    found = resolve("both.example")
    assert sorted(found) == ["192.0.2.1", "192.0.2.2", "2001:db8::1"]


def test_no_more_addresses_are_kept_than_are_of_use():
    found = resolve("many.example")
    assert len(set(found)) == len(found) == ADDRESSES_MAX


@pytest.mark.parametrize(
    ("host", "outcome"),
    [
        ("denied.example", Outcome.NO_SUCH_HOST),
        ("unknown.example", Outcome.NO_SUCH_HOST),
        ("empty.example", Outcome.NO_SUCH_HOST),
        ("broken.example", Outcome.DNS),
        ("silent.example", Outcome.DNS),
        ("a" * 64 + ".example", Outcome.NO_SUCH_HOST),
        ("a..example", Outcome.NO_SUCH_HOST),
    ],
)
def test_failures(host, outcome, monkeypatch):
    monkeypatch.setattr(dns, "_TRY_TIMEOUT", 0.05)
    monkeypatch.setattr(dns, "_TRIES", 1)
    failure = resolve(host)
    assert isinstance(failure, Failure)
    assert failure.outcome is outcome
    assert failure.detail


def test_overrides_win_for_their_port():
    options = {
        "overrides": [
            "four.example:80:127.0.0.9",
            "LOCALHOST:81:[::2],127.0.0.3",
            "127.0.0.1:82:::1",
        ]
    }
    assert resolve("four.example", 80, **options) == ["127.0.0.9"]
    assert resolve("four.example", 443, **options) == ["192.0.2.1"]
    assert resolve("localhost", 81, **options) == ["::2", "127.0.0.3"]
    assert resolve("127.0.0.1", 82, **options) == ["::1"]


@pytest.mark.parametrize(
    "rule",
    ["", "host", "host:80", "host:http:127.0.0.1", "host:80:", "host:80:name", "h:80:1.1.1.1,"],
)
def test_malformed_overrides_are_refused(rule):
    with pytest.raises(ValueError, match=r".+"):
        parse_override(rule)


# The cache


@pytest.mark.parametrize(
    ("host", "kept"),
    [
        ("four.example", dns.TTL_MIN),
        ("both.example", 300.0),
        ("long.example", dns.TTL_MAX),
        ("denied.example", dns.TTL_NO_SUCH_HOST),
        ("broken.example", dns.TTL_FAILURE),
    ],
)
def test_an_answer_is_kept_for_its_time_within_bounds(host, kept):
    async def body(resolver, _):
        await resolver.resolve(host, 80)
        return resolver._cache[host][0]

    assert run(body) == pytest.approx(Clock.now + kept, abs=1)


def test_the_name_server_is_asked_again_when_the_time_is_over():
    clock = Clock()

    async def body(resolver, server):
        for offset, asked in [(0, 1), (dns.TTL_MIN - 1, 1), (dns.TTL_MIN, 2), (dns.TTL_MIN + 1, 2)]:
            clock.now = Clock.now + offset
            assert await resolver.resolve("four.example", 80) == ["192.0.2.1"]
            assert server.asked["four.example"] == asked

    run(body, clock=clock)


def test_many_who_ask_at_once_ask_once():
    async def body(resolver, server):
        answers = await asyncio.gather(*(resolver.resolve("four.example", 80) for _ in range(50)))
        assert answers == [["192.0.2.1"]] * 50
        assert server.asked["four.example"] == 1

    run(body)


def test_one_who_gives_up_does_not_take_the_answer_from_the_others():
    async def body(resolver, server):
        first = asyncio.create_task(resolver.resolve("four.example", 80))
        second = asyncio.create_task(resolver.resolve("four.example", 80))
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert await second == ["192.0.2.1"]
        assert server.asked["four.example"] == 1

    run(body)


def test_the_cache_is_bounded_and_forgets_the_oldest(monkeypatch):
    monkeypatch.setattr(dns, "CACHE_SIZE", 2)

    async def body(resolver, _):
        for host in ("four.example", "six.example", "both.example"):
            await resolver.resolve(host, 80)
        return set(resolver._cache)

    assert run(body) == {"six.example", "both.example"}


# Ends


def test_closing_ends_what_is_being_asked():
    async def body(resolver, _):
        asking = asyncio.create_task(resolver.resolve("silent.example", 80))
        await asyncio.sleep(0.02)
        await resolver.close()
        with pytest.raises(asyncio.CancelledError):
            await asking

    run(body)


def test_a_resolver_that_cannot_start_is_a_failure(monkeypatch):
    def broken(*_, **__):
        raise dns.pycares.AresError("no channel")

    monkeypatch.setattr(dns.aiodns, "DNSResolver", broken)
    failure = resolve("four.example")
    assert isinstance(failure, Failure)
    assert failure.outcome is Outcome.DNS
    assert "no channel" in failure.detail
