"""The memory of bodies: counted exactly, bounded, and nothing lost of what goes into files."""

from __future__ import annotations

import asyncio
import resource
import signal
from contextlib import contextmanager
from pathlib import Path

import brotli
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from isal import igzip, isal_zlib

from andante.fetch import Failure, Limits, Outcome, Response, decode
from andante.fetch.bodies import _MAPPED, STEP, UNCOUNTED, Body, BodyMemory
from support.wire import answer, pair, start

LIMIT = 2 * _MAPPED
BLOCKS = [bytes([number]) * size for number, size in enumerate((1, STEP, STEP + 1, _MAPPED))]


class Bodies(RuleBasedStateMachine):
    """Bodies that grow, end and are let go in any order."""

    def __init__(self):
        super().__init__()
        self.memory = BodyMemory(LIMIT)
        self.growing: list[tuple[Body, list[bytes]]] = []
        self.done: list[tuple[Body, object, bytes]] = []

    @rule()
    def begin(self):
        self.growing.append((Body(self.memory), []))

    @rule(block=st.sampled_from(BLOCKS), which=st.integers(0, 9))
    def add(self, block, which):
        if self.growing:
            body, blocks = self.growing[which % len(self.growing)]
            body.add(block)
            blocks.append(block)
            assert len(body) == sum(map(len, blocks))

    @rule(which=st.integers(0, 9), less=st.integers(0, 2))
    def finish(self, which, less):
        if self.growing:
            body, blocks = self.growing.pop(which % len(self.growing))
            whole = b"".join(blocks)[: max(0, len(body) - less)]
            self.done.append((body, body.finish(len(whole)), whole))

    @rule(which=st.integers(0, 9))
    def let_go(self, which):
        if self.done:
            self.done.pop(which % len(self.done))

    @rule(which=st.integers(0, 9))
    def abandon(self, which):
        if self.growing:
            self.growing.pop(which % len(self.growing))

    @invariant()
    def it_is_counted_and_bounded(self):
        bodies = [body for body, _ in self.growing] + [body for body, _, _ in self.done]
        assert self.memory.held == sum(body._held for body in bodies) <= LIMIT
        for body in bodies:
            assert body._held in (0, len(body))

    @invariant()
    def nothing_is_lost(self):
        assert all(bytes(payload) == whole for _, payload, whole in self.done)

    def teardown(self):
        self.growing.clear()
        self.done.clear()
        assert self.memory.held == 0


Bodies.TestCase.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)
TestBodies = Bodies.TestCase


BODY = bytes(i % 251 for i in range(300_000))
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n" + BODY


def reads(data: bytes, size: int) -> list[bytes]:
    return [data[i : i + size] for i in range(0, len(data), size)]


@pytest.mark.parametrize("size", [1000, 65_536, 10**6])
@pytest.mark.parametrize("limit", [0, 100_000, 250_000, 10**6])
def test_a_response_is_the_same_in_memory_and_in_a_file(limit, size):
    memory = BodyMemory(limit)
    response = answer(*reads(WHOLE, size), memory=memory)
    assert bytes(response.payload) == BODY
    assert (response.truncated, len(response.payload)) == ("", 300_000)
    cut = answer(*reads(WHOLE, size), memory=memory, limits=Limits(max_body=299_999))
    assert (bytes(cut.payload), cut.truncated) == (BODY[:-1], "length")
    none = answer(*reads(WHOLE, size), memory=memory, limits=Limits(max_body=0))
    assert (bytes(none.payload), none.truncated) == (b"", "length")
    del response, cut, none
    assert memory.held == 0


def test_short_bodies_are_not_counted():
    class Uncounted(BodyMemory):
        def __setattr__(self, name, value):
            assert name != "held" or value == 0
            super().__setattr__(name, value)

    body = b"b" * (UNCOUNTED - 500)
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
    response = answer(head, *reads(body, 1000), memory=Uncounted(0))
    assert (type(response.payload), response.memory) == (bytes, None)


ENDS = {
    "whole": lambda connection, _: connection.data_received(BODY[200_000:]),
    "lost": lambda _, wire: wire.lose(ConnectionResetError()),
    "closed": lambda connection, _: connection.close(),
    "more than the limit": lambda connection, _: connection.data_received(BODY + b"x"),
    "aborted": lambda _, wire: wire.abort(),
}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([*ENDS, "cancelled"]), min_size=1, max_size=6),
    st.sampled_from([0, 200_000, 500_000, 10**7]),
)
def test_the_count_is_nothing_when_all_responses_are_let_go(ends, limit):
    memory = BodyMemory(limit)

    async def main() -> None:
        under_way = [(*pair(Limits(max_body=300_000), memory), end) for end in ends]
        tasks = [await start(connection) for connection, _, _ in under_way]
        for connection, _, _ in under_way:
            for each in reads(WHOLE[: len(WHOLE) - 100_000], 50_000):
                connection.data_received(each)
        assert memory.held <= limit
        for task, (connection, wire, end) in zip(tasks, under_way, strict=True):
            if end == "cancelled":
                task.cancel()
            else:
                ENDS[end](connection, wire)
        results = await asyncio.gather(*tasks, return_exceptions=True)
        held = [each.memory for each in results if isinstance(each, Response)]
        assert memory.held == sum(body._held for body in held if body is not None)
        for connection, _, _ in under_way:
            connection.close()

    asyncio.run(main())
    assert memory.held == 0


@contextmanager
def limited(what: int, to: int):
    before = resource.getrlimit(what)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(what, (to, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(what, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_is_an_error_of_that_exchange_and_the_others_are_stale(tmp_path):
    memory = BodyMemory(0, tmp_path)

    async def main() -> None:
        connection, wire = pair(memory=memory)
        first, behind = await start(connection), await start(connection)
        with limited(resource.RLIMIT_FSIZE, 100_000):  # stands for a full disk
            for each in reads(WHOLE, 50_000):
                if not wire.ended:
                    connection.data_received(each)
        with pytest.raises(OSError, match="File too large"):
            await first
        result = await behind
        assert isinstance(result, Failure)
        assert result.outcome is Outcome.STALE
        assert wire.ended == "aborted"

    asyncio.run(main())
    assert memory.held == 0
    assert not list(tmp_path.iterdir())


def test_where_no_more_files_may_be_opened_bodies_stay_in_memory(tmp_path):
    memory = BodyMemory(0, tmp_path)

    async def main() -> Response:
        connection, _ = pair(memory=memory)
        task = await start(connection)
        with limited(resource.RLIMIT_NOFILE, 3):
            connection.data_received(WHOLE)
        connection.close()
        return await task

    response = asyncio.run(main())
    assert bytes(response.payload) == BODY
    del response
    assert memory.held == 0


def test_a_body_in_a_file_is_read_though_no_more_files_may_be_opened(tmp_path):
    body = Body(BodyMemory(0, tmp_path))
    body.add(BODY)
    with limited(resource.RLIMIT_NOFILE, 3):
        assert body.finish(10**6) == BODY


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_files_have_no_name_and_end_with_their_bodies(tmp_path):
    before = open_files()
    payloads = []
    for _ in range(5):
        body = Body(BodyMemory(0, tmp_path))
        body.add(BODY)
        payloads.append(body.finish(10**6))
    Body(BodyMemory(0, tmp_path)).add(BODY)  # let go in the middle
    assert not list(tmp_path.iterdir())
    assert open_files() == before + 5
    payloads.clear()
    assert open_files() == before


def test_a_growing_body_is_moved_a_few_times_and_not_with_each_block():
    moves = []
    for size in (2**23, 2**24):
        memory, count = BodyMemory(2**26), 0
        memory.held = 2**25  # by others, so that there is little left
        body = Body(memory)
        for _ in range(size // STEP):
            room = len(body._map or b"")
            body.add(bytes(STEP))
            count += len(body._map or b"") != room
        moves.append(count)
    assert moves[1] == moves[0] + 1


@pytest.mark.parametrize(
    "encoding", [b"gzip", b"deflate", b"br", b"zstd", b"", b"utf-8", b"gzip, br"]
)
def test_a_map_is_decoded_as_bytes_are(encoding, tmp_path):
    packed = {
        b"gzip": igzip.compress(BODY),
        b"deflate": isal_zlib.compress(BODY),
        b"br": brotli.compress(BODY, quality=1),
        b"zstd": zstandard.compress(BODY),
        b"gzip, br": brotli.compress(igzip.compress(BODY), quality=1),
    }.get(encoding, BODY)
    body = Body(BodyMemory(0, tmp_path))
    body.add(packed)
    decoded = decode(body.finish(10**7), encoding, limit=10**7)
    assert type(decoded) is bytes
    assert decoded == BODY
    body = Body(BodyMemory(0, tmp_path))
    body.add(b" <p>no coding at all")
    assert decode(body.finish(10**7), encoding, limit=10**7) == b" <p>no coding at all"
