"""Progress: a live panel on a terminal, a plain line every ten seconds elsewhere."""

from __future__ import annotations

import sys
from math import inf
from types import TracebackType
from typing import IO, Protocol, Self

import msgspec

from andante.flow import Sample
from andante.observe.stats import Speed, Stats
from andante.printed import printed
from andante.units import counted, format_duration, format_rate, format_size

_SPEEDS_SHOWN = 5


class Snapshot(msgspec.Struct, kw_only=True):
    """What a crawl looks like at one moment."""

    stats: Stats
    known: int
    """URLs met so far."""
    queued: int
    """URLs that wait."""
    servers: int
    """Servers met so far."""
    visits: int
    """Connections at work."""
    elapsed: float
    """Seconds since this start."""
    pages_before: int = 0
    """Pages that earlier starts have fetched."""
    max_pages: int | None = None
    max_time: float | None = None
    doing: str = "crawling"
    speeds: list[Sample] = []
    """How the busiest servers have fared lately, the busiest first."""
    waiting: str = ""
    """What the crawl waits for, where nothing can go now: ``alder.example in 12 s``."""


class Progress(Protocol):
    """Shows a crawl while it runs."""

    interval: float
    """Seconds between updates."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def update(self, now: Snapshot) -> None:
        """Show the crawl as it is now."""


class PlainProgress:
    """One line to standard error every ten seconds."""

    interval = 10.0

    def __init__(self, stream: IO[str] = sys.stderr) -> None:
        self._stream = stream
        self._speed: Speed | None = None
        self._drain = Drain()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def update(self, now: Snapshot) -> None:
        """Print a line."""
        self._speed = self._speed or Speed(now.pages_before)
        speed = self._speed.read(now.stats.pages, now.elapsed)
        parts = [
            f"{format_duration(now.elapsed)}: {counted(now.stats.pages, 'page')} ({speed:,.1f}/s)",
            f"{now.queued:,} queued",
            counted(now.servers, "server"),
            counted(now.visits, "connection"),
            format_size(now.stats.bytes),
        ]
        if below := [f"{_host(each)} {_speed(each)}" for each in now.speeds if each.reason]:
            parts.append("below its set-point: " + ", ".join(below[:3]))
        if problems := now.stats.failed.total():
            parts.append(f"{problems:,} failed")
        if left := remaining(now, speed, self._drain.read(now)):
            parts.append(f"about {format_duration(left)} left")
        if now.waiting:
            parts.append(f"waiting for {now.waiting}")
        print(printed(", ".join(parts)), file=self._stream, flush=True)


class LiveProgress:
    """A panel that is drawn again twice a second."""

    interval = 0.5

    def __init__(self, stream: IO[str] = sys.stderr) -> None:
        from rich.console import Console  # noqa: PLC0415  # slow to import, and not wanted without a terminal
        from rich.live import Live  # noqa: PLC0415

        self._live = Live(
            console=Console(file=stream, force_terminal=True), auto_refresh=False, transient=True
        )
        self._speed: Speed | None = None
        self._drain = Drain()

    def __enter__(self) -> Self:
        self._live.start()
        self._live.console.show_cursor()  # a process that is killed could not bring it back
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def update(self, now: Snapshot) -> None:
        """Draw the panel."""
        from rich.panel import Panel  # noqa: PLC0415
        from rich.table import Table  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        self._speed = self._speed or Speed(now.pages_before)
        speed = self._speed.read(now.stats.pages, now.elapsed)
        table = Table.grid(padding=(0, 2))
        table.add_column(style="bold")
        for name, value in panel_rows(now, speed, self._drain.read(now)):
            table.add_row(name, Text(printed(value)))  # no markup: [fd00::1] is a host
        title = f"andante: {now.doing}, {format_duration(now.elapsed)}"
        self._live.update(
            Panel(table, title=Text(title), title_align="left", expand=False, border_style="cyan"),
            refresh=True,
        )


def panel_rows(now: Snapshot, speed: float, drain: float = 0.0) -> list[tuple[str, str]]:
    """Return what the panel says, as names and values."""
    stats = now.stats
    pages = f"{stats.pages:,}" + (f" of {now.max_pages:,}" if now.max_pages else "")
    rows = [
        ("pages", f"{pages}   {speed:,.1f}/s   {speed * 60:,.0f}/min   {format_size(stats.bytes)}"),
        (
            "queue",
            f"{counted(now.queued, 'URL')}   {now.known:,} known on {counted(now.servers, 'server')}",
        ),
        (
            "connections",
            f"{now.visits} at work   {stats.connections:,} opened   {stats.requests:,} requests",
        ),
    ]
    rows += [("speed", f"{_host(each)}   {_speed(each)}") for each in now.speeds[:_SPEEDS_SHOWN]]
    other = {
        status: count for status, count in stats.fetched.items() if not status.startswith("2")
    } | stats.failed
    if other or stats.redirected or stats.excluded:
        problems = [
            f"{reason} {count:,}"
            for reason, count in sorted(other.items(), key=lambda item: -item[1])[:6]
        ]
        skipped = [f"{reason} {count:,}" for reason, count in stats.excluded.most_common(3)]
        redirected = [f"redirected {stats.redirected:,}"] if stats.redirected else []
        rows.append(("other", "   ".join(problems + redirected + skipped)))
    if now.waiting:
        rows.append(("waiting", f"for {now.waiting}"))
    if left := remaining(now, speed, drain):
        rows.append(("left", f"about {format_duration(left)}"))
    return rows


def _host(sample: Sample) -> str:
    return sample.server.partition("://")[2] or "in all"


def _speed(sample: Sample) -> str:
    """Return a speed, what is wanted, and why it is less: ``38/min of 60/min (robots)   2 connections   120 ms``."""
    text = f"{sample.rate:,.0f}/min"
    if sample.set_point < inf:
        text += f" of {format_rate(sample.set_point)}"
    if sample.ceiling < sample.set_point:
        text += f"   learnt to allow {sample.ceiling:,.0f}/min"
    if sample.reason:
        text += f" ({sample.reason})"
    return f"{text}   {counted(sample.limit, 'connection')}   {sample.latency * 1000:,.0f} ms"


def remaining(now: Snapshot, speed: float, drain: float) -> float | None:
    """Return the seconds until the crawl ends, as things go now; None where nobody can know.

    Args:
        now: the crawl.
        speed: pages a second.
        drain: URLs a second by which the queue gets shorter; 0 or less: it does not, so its end tells nothing.
    """
    times = []
    if now.max_time is not None:
        times.append(now.max_time - now.elapsed)
    if now.max_pages is not None and speed > 0:
        pages = now.max_pages - now.stats.pages
        if pages <= now.queued:  # else there may be no so many
            times.append(pages / speed)
    if drain > 0:
        times.append(now.queued / drain)
    return max(0.0, min(times)) if times else None


class Drain:
    """By how many URLs a second the queue of a crawl has got shorter over the last ten seconds."""

    def __init__(self) -> None:
        self._speed: Speed | None = None

    def read(self, now: Snapshot) -> float:
        """Take a reading; the first one tells nothing."""
        if self._speed is None:
            self._speed = Speed(now.queued, at=now.elapsed)
        return -self._speed.read(now.queued, now.elapsed)
