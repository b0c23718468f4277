"""The store on Redis."""

from __future__ import annotations

import re
import secrets
import struct
import time
import zlib
from collections.abc import Callable, Iterable
from typing import Any, Literal

from andante.cluster.exchange import (
    ANSWER_MAX,
    POOL,
    Answer,
    BuriedError,
    ClusterError,
    Entry,
    Joined,
    LostError,
    Mail,
    NameTakenError,
    OtherSettingsError,
    Report,
    Take,
    Totals,
    UnreachableError,
)
from andante.cluster.redis import bloom, wire
from andante.cluster.redis.client import Call, Client, Script, script
from andante.cluster.redis.keys import CRAWLS, SMALL, by, key, wipe
from andante.cluster.redis.sending import Sending, Step

SHARDS = 16
"""Of a crawl in a cluster. Each is on one master, with all that is known of its servers."""

_JOIN, _SWEEP = script("common", "join"), script("common", "sweep")


class RedisStore:
    """A `Store` on Redis 6.2 or newer or Valkey, alone or in cluster mode, as one node sees it.

    Args:
        url: as of `Client`; that it is a cluster is seen by asking it.
        crawl: name of the crawl; those of other names on the same Redis do not mix with it.
        seen: the test whether a URL is new: ``exact``, or a ``bloom`` filter.
        false_positives: most of the new URLs that the Bloom filter may take for known, as a share.
        timeout: seconds after which a Redis that does not answer counts as not reached.
        wall: gives the time of day; after a loss epochs are counted from it, so that none is used again.

    Raises:
        ClusterError: an argument is of no use.
    """

    def __init__(
        self,
        url: str,
        crawl: str,
        *,
        seen: Literal["exact", "bloom"] = "exact",
        false_positives: float = 1e-9,
        timeout: float = 5.0,
        wall: Callable[[], float] = time.time,
    ) -> None:
        if not re.fullmatch(r"[\w.-]{1,64}", crawl, re.ASCII):
            raise ClusterError(
                f"{crawl!r} cannot be the name of a crawl: letters, digits, '.', '_' and '-' can"
            )
        if seen == "bloom" and not 1e-15 <= false_positives <= 0.1:
            raise ClusterError("the rate of false positives must be between 1e-15 and 0.1")
        self._client = Client(url, timeout)
        self._crawl = crawl
        self._wall = wall
        self._rate = false_positives if seen == "bloom" else 0.0
        self._seen = f"bloom {false_positives:g}" if seen == "bloom" else "exact"
        self._exchange = script("common", f"seen_{seen}", "exchange")
        self._shards = 1
        self._generation = ""
        self._epoch = POOL
        self._sequences: list[int] = []
        self._sending: Sending | None = None

    async def join(self, name: str, *, token: str, config: bytes, again: bool = False) -> Joined:
        """Join the crawl, or begin it.

        Raises:
            ClusterError: as in `Store`; and Redis cannot be reached for the first time, is too old, or drops keys.
        """
        if not 0 < len(name.encode()) < 255:
            raise ClusterError("the name of a node must have 1 to 254 bytes")
        try:
            await self._client.connect()
        except UnreachableError as error:
            raise ClusterError(str(error)) from error
        while True:
            begun = await self._begin(name, token, config, again=again)
            epoch, predecessor, generation, told, settled, self._shards, opened = begun
            self._generation = generation.decode()
            if await self._open(opened=opened, settled=settled):
                break
            again = True
        await self._client.command("SADD", CRAWLS, self._crawl)
        self._epoch, self._sequences, self._sending = epoch, [0] * self._shards, None
        return Joined(epoch, predecessor, self._generation, _texts(told), bool(settled))

    async def _begin(self, name: str, token: str, config: bytes, *, again: bool) -> Any:
        """Join at the first shard; return what it says of the crawl."""
        shards = SHARDS if self._client.is_cluster else 1
        ask = (
            secrets.token_hex(8),
            name,
            token,
            config,
            self._seen,
            shards,
            int(again),
            int(self._wall()),
        )
        while (reply := await self._small(0, *ask, of=_JOIN))[0] == b"wipe":
            await wipe(self._client, self._crawl, 0)
        match reply:
            case [b"config", was]:
                raise OtherSettingsError(was)
            case [b"seen", was]:
                raise ClusterError(
                    f"the crawl has been started with another seen test: {was.decode()}, not {self._seen}"
                )
            case [b"name"]:
                raise NameTakenError(name)
        return reply[1:]

    async def _open(self, *, opened: int, settled: int) -> bool:
        """Make the other shards ready; tell whether they are, or the crawl has to begin anew as some have lost their data."""
        for shard in range(1, self._shards):
            ask = ("open", self._generation, opened, settled)
            while (reply := await self._small(shard, *ask, about_loss=True)) == [b"wipe"]:
                await wipe(self._client, self._crawl, shard)
            if reply == [b"lost"]:
                await self._small(0, "lose", self._generation)
                return False
        if opened:
            return True
        return bool(await self._small(0, "opened", self._generation, about_loss=True) == [b"ok"])

    async def exchange(self, report: Report) -> Answer:
        """Send a report.

        One round trip. In a cluster each master is asked at once; a report with `Links` and `Ended` takes two, and one with a
        `Take` one more for each shard that gives something.
        """
        sending = self._sending
        if sending is None or (report.number > sending.report.number and sending.is_answered):
            sending = self._sending = Sending(report, self._shard, self._shards)
        elif report.number < sending.report.number:
            raise ValueError(f"report {report.number} comes after report {sending.report.number}")
        elif report.number > sending.report.number:
            raise ValueError(f"report {sending.report.number} has not been answered")
        while len(sending.phases) > 1:
            await self._send(sending, sending.phases[0])
            del sending.phases[0]
        steps = sending.phases[0]
        others = set(range(self._shards)) - {step.shard for step in steps}
        await self._send(sending, steps, listen=others)
        for at in list(sending.takes):
            await self._take(sending, at)
        try:
            return self._answer(sending)
        except _NONSENSE as error:
            raise self._nonsense() from error

    def _nonsense(self) -> ClusterError:
        return ClusterError(
            f"Redis at {self._client.where} has what no node has written: see who else can write to it"
        )

    async def _send(self, sending: Sending, steps: list[Step], listen: Iterable[int] = ()) -> None:
        """Carry out steps, and drop those that were answered from the list; ask other shards for what is new."""
        todo = [*steps, *(Step(shard, {}) for shard in listen)]
        replies = await self._client.run([self._call(step) for step in todo])
        errors: list[Exception] = []
        for step, reply in zip(todo, replies, strict=True):
            if error := _refusal(reply):
                errors.append(error)
                continue
            sending.heard[step.shard] = reply
            if step in steps:
                steps.remove(step)
                self._sequences[step.shard] += 1
                try:
                    answers = wire.unpack_answers(reply[1], list(step.parts.values()))
                except _NONSENSE as error:
                    raise self._nonsense() from error
                for at, answer in zip(step.parts, answers, strict=True):
                    sending.answers[at] = answer
        if any(isinstance(error, LostError | BuriedError) for error in errors):
            self._sending = None
        if errors:
            raise min(errors, key=lambda error: _WORST_FIRST.index(type(error)))

    def _call(self, step: Step) -> Call:
        counts = bool(step.parts or step.beat)
        return Call(
            self._exchange,
            self._key(step.shard),
            (
                self._generation,
                self._epoch,
                self._sequences[step.shard] + 1 if counts else 0,
                wire.pack_parts(list(step.parts.values())),
                step.beat,
                self._rate,
                ANSWER_MAX,
            ),
        )

    async def _take(self, sending: Sending, at: int) -> None:
        """Ask the shards that have something in the pool, the fullest first, until the node has what it wants."""
        wanted, grants = sending.report.parts[at], sending.takes[at]
        assert isinstance(wanted, Take)
        asked: set[int] = set()
        while True:
            if not sending.taking:
                urls = wanted.urls - sum(grant.waiting for grant in grants)
                servers = wanted.servers - len(grants)
                pools = {
                    shard: reply[4] for shard, reply in sending.heard.items() if shard not in asked
                }
                shard = max(pools, key=pools.__getitem__, default=0)
                if urls <= 0 or servers <= 0 or not pools.get(shard):
                    break
                asked.add(shard)
                sending.taking.append(Step(shard, {at: Take(urls, servers)}))
            await self._send(sending, sending.taking)
            got = sending.answers[at]
            assert isinstance(got, list)
            grants += got
        sending.answers[at] = grants
        del sending.takes[at]

    def _answer(self, sending: Sending) -> Answer:
        heard = [sending.heard[shard] for shard in range(self._shards)]
        nodes, news, settled = heard[0][8:]
        known = [reply[3] for reply in heard]
        return Answer(
            parts=list(sending.answers),
            mail=[
                Mail(wire.decoded(server), start, [wire.unpack_entry(entry) for entry in entries])
                for reply in heard
                for server, start, entries in by(3, reply[6])
            ],
            grants=[
                grant for reply in heard for grant in wire.unpack_grants(wire.Reader(reply[7]))
            ],
            nodes=wire.unpack_nodes(dict(by(2, nodes))),
            totals=Totals(
                waiting=max(sum(reply[2] for reply in heard), 0),  # less: others have written there
                known=sum(known),
                pool=sum(reply[4] for reply in heard),
                false_positives=sum(bloom.errs(self._rate, count) for count in known) / len(known)
                if self._rate
                else 0.0,
                changes=sum(reply[5] for reply in heard),
            ),
            generation=self._generation,
            news=news,
            settled=bool(settled),
        )

    async def entries(self, server: str, start: int, count: int) -> list[Entry]:
        """Return entries of a log."""
        ask = (
            "entries",
            self._generation,
            self._epoch,
            wire.encoded(server),
            start,
            start + count - 1,
        )
        reply = await self._small(self._shard(server), *ask)
        return [wire.unpack_entry(entry) for entry in reply[1]]

    async def bury(self, epoch: int, *, to: int = POOL, count: int | None = None) -> bool:
        """End an epoch. The first shard decides whether it ends; then the servers go, a page of them at a time."""
        words = (epoch, to, "" if count is None else count)
        if not await self._sweep("bury", [0], *words):
            return False
        await self._sweep("bury", range(1, self._shards), *words)
        await self._small(0, "strike", self._generation, epoch)
        return True

    async def settle(self) -> None:
        """All nodes have said what they hold. The first shard, which tells those who join, is the last."""
        await self._sweep("settle", range(1, self._shards))
        await self._sweep("settle", [0])

    async def _sweep(self, what: str, shards: Iterable[int], *words: int | str) -> bool:
        """Walk through the servers of some shards, a page of each at a time; tell whether it was to be."""
        cursors = dict.fromkeys(shards, b"0")
        while cursors:
            walk = list(cursors.items())
            own = (self._generation, self._epoch, what)
            calls = [Call(_SWEEP, self._key(shard), (*own, at, *words)) for shard, at in walk]
            for (shard, _), reply in zip(walk, await self._client.run(calls), strict=True):
                if error := _refusal(reply):
                    raise error
                if reply[0] == b"lives":
                    return False
                cursors[shard] = reply[1]
            cursors = {shard: at for shard, at in cursors.items() if at != b"0"}
        return True

    async def tell(self, text: str) -> None:
        """Tell all nodes something."""
        await self._small(0, "tell", self._generation, self._epoch, text)

    async def told(self) -> list[str]:
        """Return what was told."""
        return _texts((await self._small(0, "tell", self._generation, self._epoch))[1])

    async def leave(self) -> None:
        """End the node's own epoch."""
        await self.bury(self._epoch)

    async def close(self) -> None:
        """Let go of the connections."""
        await self._client.close()

    def _key(self, shard: int) -> str:
        return key(self._crawl, shard)

    def _shard(self, server: str) -> int:
        return zlib.crc32(wire.encoded(server)) % self._shards

    async def _small(
        self, shard: int, *args: str | bytes | int, of: Script = SMALL, about_loss: bool = False
    ) -> Any:
        """Run a small script; a loss is raised unless it is what was asked about."""
        (reply,) = await self._client.run([Call(of, self._key(shard), args)])
        if (error := _refusal(reply)) and not (about_loss and reply == [b"lost"]):
            raise error
        return reply


_NONSENSE = (ValueError, IndexError, TypeError, struct.error)
"""What comes of a reply that is none."""

_REFUSALS = {b"lost": LostError, b"buried": BuriedError}
_WORST_FIRST = (LostError, BuriedError, ClusterError, UnreachableError)


def _refusal(reply: Any) -> Exception | None:
    """Return what is wrong with a reply, if anything."""
    if isinstance(reply, Exception):
        return reply
    if reply[0] == b"stale":
        return ClusterError("another process uses the epoch of this node")
    refusal = _REFUSALS.get(reply[0])
    return refusal() if refusal else None


def _texts(told: list[bytes]) -> list[str]:
    return [text.decode("utf-8", "replace") for text in told]
