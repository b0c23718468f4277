"""The job: the directory that holds one crawl, with its lock, its journal and its outputs."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from itertools import chain, islice
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

from andante.flow import Learnt, Pace, Sample, Trouble
from andante.frontier import Block, Frontier, Growth, Link
from andante.frontier.block import decode_done, decode_links, encode_done, encode_links
from andante.frontier.seen import unpack
from andante.page import Page
from andante.store.formats import files, open_output
from andante.store.journal import Batch, Ended, JobError, Journal, ServerState
from andante.store.lock import Lock
from andante.store.output import Output, OutputDamaged, Position
from andante.store.rates import RatesFile

JOURNAL = "journal.sqlite"

_NOTHING = ServerState()

_ENDED_SIZE = 200
"""Bytes of memory that a URL which ended without a page takes until it is written, besides its characters."""


class Outgoing(NamedTuple):
    """What a node of a cluster has still to say, as a commit keeps it."""

    new: list[tuple[int, bytes]]
    """Since the last commit: number, part."""
    heard: list[int]
    """Numbers of parts that may be forgotten."""


NOTHING_OUTGOING = Outgoing([], [])


class Job:
    """An open job. Pages, ended URLs and links gather in memory; a commit writes them together, or nothing of them.

    Args:
        directory: made if it is not there. None: the job is kept in memory, and gone when it is closed.
        outputs: where pages go; the same at each start.
        warc_size: bytes at which a WARC file is full.
        about: what the outputs say of the crawl: ``user_agent``, ``robots``.
        executor: runs what writes, one call after another; a thread of its own unless given. It is the job's to shut down.

    Raises:
        JobError: the directory cannot be used, the job is damaged or of another version, or another process has it.
    """

    def __init__(
        self,
        directory: Path | None,
        outputs: Sequence[Path],
        *,
        warc_size: int,
        about: dict[str, str],
        executor: Executor | None = None,
    ) -> None:
        self.directory = directory
        self._goes_on = directory is not None and (directory / JOURNAL).exists()
        self._lock: Lock | None = None
        if directory is not None:
            _prepare(directory, outputs)
            self._lock = Lock(directory / "lock")
        try:
            self._journal = Journal(None if directory is None else directory / JOURNAL)
            if self._journal.is_fruitless():
                self._journal.reset()
            self._meta = self._journal.meta()
            self.outputs = self._open_outputs(outputs, warc_size=warc_size, about=about)
            if "positions" not in self._meta:  # from here on what is in the files is the job's own
                self._journal.commit(Batch(meta={"positions": self._positions()}))
        except BaseException:
            self._release()
            raise
        self._stats = self._meta.get("stats", {})
        self.seed_hosts: dict[str, bool | None] = self._meta.get("seed_hosts", {})
        """Hosts that the user gave, and whether they may be at addresses that are not public (None: not known yet); committed as it is."""
        self.seed_origins: list[str] = self._meta.get("seed_origins", [])
        """Servers of the seeds that the user gave, not of those that they have moved to; committed as it is."""
        self._states = {
            key: state for key, state in self._journal.servers().items() if state != _NOTHING
        }
        self._records: list[list[bytes]] = [[] for _ in self.outputs]
        self._ended: list[Ended] = []
        self._samples: list[Sample] = []
        self._robots: dict[str, tuple[bytes, float]] = {}
        self._changed: set[str] = set()
        self._promised: deque[str] = deque()
        self.rates = None if directory is None else RatesFile(directory)
        """The set-points that the user gives the job while it runs."""
        self._thread = executor or ThreadPoolExecutor(1, thread_name_prefix="andante-store")
        self.pending = 0
        """Bytes that wait for the next commit: of output, and of URLs that ended without a page."""
        self._ended_size = 0  # bytes of these
        self.generation: str = self._meta.get("generation", "")
        """Of the shared store's data that know what the job holds; empty: there is no shared store."""
        self._met = 0  # servers of the frontier that the job has

    @property
    def is_new(self) -> bool:
        """Nothing was ever committed to it."""
        return "stats" not in self._meta

    @property
    def stats(self) -> dict[str, Any]:
        """The counts as last committed, or as the commit under way has them."""
        return dict(self._stats)

    @property
    def was_shared(self) -> bool:
        """It was part of a crawl of several nodes before: it has a `token`."""
        return "token" in self._meta

    @property
    def token(self) -> str:
        """The job's own number, made when it is first asked for: who has the job is the same node again."""
        token: str | None = self._meta.get("token")
        if token is None:
            token = self._meta["token"] = token_hex(8)
            self._journal.commit(Batch(meta={"token": token}))
        return token

    @property
    def seeds(self) -> list[str]:
        """The seeds of all starts, and the hosts that they moved to."""
        return list(self._meta.get("seeds", ()))

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the last start that decide what is found; none where nothing is known that they decided."""
        return {} if self.is_new else dict(self._meta.get("settings", {}))

    @property
    def paths(self) -> list[Path]:
        """The files of the outputs."""
        return [path for output in self.outputs for path in files(output.path, output.position)]

    @property
    def wants_title(self) -> bool:
        """Some output writes the titles of pages."""
        return any(output.sink.wants_title for output in self.outputs)

    # Reading

    def restore(self, frontier: Frontier, total: Pace, *, now: float, wall: float) -> None:
        """Fill the frontier of a job that goes on. Each server, and the crawl by its ``total`` pace, waits a full pause, for it may have asked a moment ago."""
        if not self._goes_on:
            return
        blocks = (
            (
                row.server,
                Block.from_disk(
                    row.number, grades=row.grades, size=row.size, done=decode_done(row.done)
                ),
            )
            for row in self._journal.blocks()
        )
        frontier.restore(blocks, chain.from_iterable(map(unpack, self._journal.fingerprints())))
        frontier.rest(now)
        self._journal.forget_robots(before=wall)
        total.hold(now + total.pause)
        for key, state in self._states.items():
            pace = frontier.server(key).origin_pace
            pace.delay = max(pace.delay, state.crawl_delay)
            pace.hold(now + max(pace.delay, state.hold_until - wall))
        self._met = frontier.met

    def redirects(self) -> Iterator[tuple[str, str]]:
        """Return the redirects met at earlier starts: URL and target, in the order they were met."""
        return (
            (ended.url, ended.detail)
            for ended in self._journal.ended()
            if ended.state == "redirected"
        )

    def load(self, block: Block, start: int, stop: int) -> list[Link]:
        """Read links of a stored block: those from the index ``start`` to before ``stop``.

        Raises:
            JobError: the journal is damaged.
        """
        with self._journal.reading("links"):
            links = decode_links(self._journal.links(block.number), start, stop)
            if len(links) < stop - start:
                raise ValueError(f"block {block.number} lacks links before {stop}")
            return links

    def outbox(self) -> list[tuple[int, bytes]]:
        """Return what a node of a cluster had still to say at the last commit."""
        return list(self._journal.outbox())

    def known(self) -> Iterator[bytes]:
        """Return the packed fingerprints of the URLs that were queued here, or that have ended here where the queue is shared, commit by commit."""
        return self._journal.fingerprints()

    def forget_queue(self) -> None:
        """Forget the URLs that wait: they are kept elsewhere. Before the first commit only."""
        self._journal.forget_queue()
        self._goes_on = False

    def discard(self) -> None:
        """Forget what has gathered since the last commit."""
        self.pending -= sum(len(record) for records in self._records for record in records)
        self.pending -= self._ended_size
        self._records = [[] for _ in self.outputs]
        self._ended = []
        self._ended_size = 0

    # Writing, in memory

    def write(self, page: Page, *, redirect: bool = False) -> None:
        """Add a page to the outputs; a redirect only to those that keep all responses."""
        for output, records in zip(self.outputs, self._records, strict=True):
            if not redirect or output.sink.wants_redirects:
                record = output.sink.encode(page)
                records.append(record)
                self.pending += len(record)

    def encode(self, page: Page, *, redirect: bool = False) -> list[bytes]:
        """Return what `write` would add, to be given to `add`. May be called in any thread."""
        return [
            output.sink.encode(page) if not redirect or output.sink.wants_redirects else b""
            for output in self.outputs
        ]

    def add(self, encoded: list[bytes]) -> None:
        """Add a page that is encoded."""
        for records, record in zip(self._records, encoded, strict=True):
            if record:
                records.append(record)
                self.pending += len(record)

    def end(self, ended: Ended) -> None:
        """Add a URL that ended without a page."""
        self._ended.append(ended)
        size = _ENDED_SIZE + len(ended.url) + len(ended.detail)
        self._ended_size += size
        self.pending += size

    def sample(self, samples: Iterable[Sample]) -> None:
        """Add to the time series."""
        self._samples += samples

    # What servers ask for

    def keep_robots(self, server: str, packed: bytes, expires_at: float) -> None:
        """Keep what the robots.txt of a server says until ``expires_at``, seconds since 1970; the next commit writes it."""
        self._robots[server] = (packed, expires_at)

    def robots(self, server: str) -> tuple[bytes, float] | None:
        """Return what was kept of the robots.txt of a server, and until when; None: nothing was."""
        return self._robots.get(server) or self._journal.robots(server)

    on_change: Callable[[str], None] = staticmethod(lambda _: None)
    """Is told when what is remembered of a server has changed."""

    def hold(self, server: str, until: float) -> None:
        """Remember that a server is to be left alone until ``until``, seconds since 1970."""
        state = self._state(server)
        state.hold_until = max(state.hold_until, until)
        self._promise(server)

    def crawl_delay(self, server: str, seconds: float) -> None:
        """Remember the Crawl-delay of a server."""
        self._state(server).crawl_delay = seconds
        self._promise(server)

    def learn(self, server: str, learnt: Learnt | None) -> None:
        """Remember what a server lets through."""
        self._state(server).learnt = learnt
        self._changed.add(server)
        self.on_change(server)

    def learnt(self, server: str) -> Learnt | None:
        """Return what a server was found to let through."""
        state = self._states.get(server)
        return None if state is None else state.learnt

    def suffer(self, server: str, trouble: Trouble | None) -> None:
        """Remember the trouble that a server is in."""
        if trouble != self.trouble(server)[0]:
            self._state(server).trouble = trouble
            self._changed.add(server)
            self.on_change(server)

    def trouble(self, server: str) -> tuple[Trouble | None, float]:
        """Return the trouble that a server was in, and until when it was to be left alone, seconds since 1970."""
        state = self._states.get(server, _NOTHING)
        return state.trouble, state.hold_until

    def _state(self, server: str) -> ServerState:
        return self._states.setdefault(server, ServerState())

    def _promise(self, server: str) -> None:
        """Write what a server has asked for at once, ahead of the next commit: who starts after a crash must know of it."""
        self._changed.add(server)  # if it cannot be written, the commit says so
        self._promised.append(server)
        self.on_change(server)
        self._thread.submit(self._keep_promises)

    def _keep_promises(self) -> None:
        """Write all promises made so far together; those to come have a call of their own, which may then find nothing."""
        servers = []
        while self._promised:
            key = self._promised.popleft()
            servers.append((key, self._states[key]))
        if servers:
            self._journal.commit(Batch(servers=servers))

    # Writing, to disk

    async def commit(
        self, frontier: Frontier, *, outbox: Outgoing = NOTHING_OUTGOING, **meta: Any
    ) -> None:
        """Write all that has gathered, in the store's thread.

        Args:
            frontier: what has changed in it is written too.
            outbox: what a node of a cluster has still to say.
            meta: values to be kept by name.

        Raises:
            OSError: the disk is full or failing; the commit before this one stands.
        """
        self._meet(frontier)
        changes = frontier.changes()
        grown = [
            (growth, growth.block.size, encode_done(growth.block.done)) for growth in changes.grown
        ]
        robots = dict(self._robots)
        batch = Batch(
            done=[(encode_done(block.done), block.number) for block in changes.progressed],
            finished=[(block.number,) for block in changes.finished],
            fingerprints=changes.fingerprints,
            servers=[(key, self._states.get(key, _NOTHING)) for key in self._changed],
            ended=self._ended,
            samples=self._samples,
            outbox=outbox.new,
            heard=[(number,) for number in outbox.heard],
            robots=[(server, *kept) for server, kept in robots.items()],
            meta=meta
            | {
                "seed_hosts": dict(self.seed_hosts),
                "seed_origins": self.seed_origins,
                "generation": self.generation,
            },
        )
        records, written = self._records, self.pending
        self._records = [[] for _ in self.outputs]
        self._ended = []
        self._ended_size = 0
        self._samples = []
        self._changed = set()
        self._stats = meta.get("stats", self._stats)  # if it cannot be written, the crawl ends
        await asyncio.get_running_loop().run_in_executor(
            self._thread, self._write, batch, grown, records
        )
        self.pending -= written
        for server, kept in robots.items():  # until now it was not to be had from the disk
            if self._robots[server] is kept:
                del self._robots[server]
        frontier.committed(changes)

    def _meet(self, frontier: Frontier) -> None:
        """Take up the servers met since the last commit."""
        new = frontier.met - self._met
        for key in islice(reversed(frontier.servers), new):
            self._changed.add(key)
        self._met += new

    def _write(
        self, batch: Batch, grown: list[tuple[Growth, int, bytes]], records: list[list[bytes]]
    ) -> None:
        for output, chunk in zip(self.outputs, records, strict=True):
            output.append(chunk)
            output.sync()
        batch.meta["positions"] = self._positions()
        for (server, block, links, grades, is_new), size, done in grown:
            stored = batch.blocks if is_new else batch.grown
            stored.append((block.number, server.key, grades, size, done, encode_links(links)))
        self._journal.commit(batch)

    def _key(self, output: Path) -> str:
        """Name an output in the journal: within the directory by its place there, so that the directory can be moved."""
        directory = self.directory and self.directory.absolute()
        is_inside = directory is not None and output.is_relative_to(directory)
        return str(output.relative_to(directory) if directory and is_inside else output)

    def _positions(self) -> dict[str, Position]:
        return {self._key(output.path): output.position for output in self.outputs}

    def finish(self) -> None:
        """The crawl is done: complete outputs that are only readable when complete."""
        for output in self.outputs:
            output.finish()

    def close(self) -> None:
        """Close all files and let others take the job."""
        self._thread.shutdown()
        for output in self.outputs:
            output.close()
        self._journal.close()
        self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()

    # Opening

    def _open_outputs(
        self, paths: Sequence[Path], *, warc_size: int, about: dict[str, str]
    ) -> list[Output]:
        positions: dict[str, Any] | None = self._meta.get("positions")
        absolute = [path.absolute() for path in paths]
        if positions is not None and set(positions) != set(map(self._key, absolute)):
            message = f"{self.directory} writes {', '.join(positions) or 'no output'}: go on with the same --output, or start another --job directory"
            raise JobError(message)
        outputs: list[Output] = []
        try:
            for path in absolute:
                position = positions[self._key(path)] if positions is not None else None
                outputs.append(
                    open_output(path, position=position, size_max=warc_size, about=about)
                )
        except (OutputDamaged, OSError, ValueError) as error:
            for output in outputs:
                output.close()
            raise JobError(str(error)) from error
        return outputs


def _prepare(directory: Path, outputs: Sequence[Path]) -> None:
    """Make the directory of a new job, having looked that nothing is in its way."""
    if (directory / JOURNAL).exists():
        return
    try:
        if directory.exists() and any(
            path.name not in ("lock", JOURNAL + ".new") for path in directory.iterdir()
        ):
            message = f"{directory} holds other files and no job: give an empty or new directory with --job"
            raise JobError(message)
        for path in outputs:
            if path.exists():
                message = f"{path} is there already: name another --output, or go on with the job that writes it"
                raise JobError(message)
            if path.parent != directory and not path.parent.is_dir():
                message = f"cannot write {path}: there is no directory {path.parent}"
                raise JobError(message)
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"cannot use {directory} as a job directory: {error.strerror}"
        raise JobError(message) from None
