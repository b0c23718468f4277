"""The settings of a crawl: one frozen tree, from flags, a TOML file or keyword arguments.

Each field is a flag of ``andante crawl``, a key of the configuration file and a keyword of `andante.Crawl`; its text is its help.
"""

from __future__ import annotations

import difflib
import math
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_type_hints

from andante import units
from andante.crawl.checks import problems
from andante.crawl.values import typed
from andante.errors import AndanteError


class SettingsError(AndanteError, ValueError):
    """A setting is wrong; the message is one line that says which, and what is allowed."""


Scope = Literal["host", "site", "any"]


def _setting(
    text: str, *, default: Any, group: str, unit: Callable[[str], Any] | None = None
) -> Any:
    factory = (
        {"default_factory": lambda: default} if isinstance(default, tuple) else {"default": default}
    )
    return field(metadata={"help": text, "unit": unit, "group": group}, **factory)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a crawl keeps to. Times are seconds, sizes bytes, rates requests a minute.

    Raises:
        SettingsError: a value is out of its range.
    """

    job: Path | None = _setting(
        "Directory of the job; one that is there goes on [default: named after the first seed's host, and its port if it is not the usual one]",
        default=None,
        group="Job",
    )
    output: tuple[Path, ...] = _setting(
        "File for the pages: .warc.gz, .warc, .jsonl, .jsonl.gz or .parquet; repeatable [default: pages.warc.gz in the job directory]",
        default=(),
        group="Job",
    )
    commit_interval: float = _setting(
        "Time between commits of the job to disk", default=1.0, unit=units.duration, group="Job"
    )
    warc_size: int = _setting(
        "Size at which a WARC file is full and the next one begins",
        default=10**9,
        unit=units.size,
        group="Job",
    )

    scope: Scope = _setting(
        "Follow links within the seeds' hosts, within their registrable domains (site), or to any host",
        default="host",
        group="What",
    )
    include: tuple[str, ...] = _setting(
        "Follow only links in which this regular expression is found; repeatable",
        default=(),
        group="What",
    )
    exclude: tuple[str, ...] = _setting(
        "Follow no links in which this regular expression is found; repeatable",
        default=(),
        group="What",
    )
    max_pages: int | None = _setting(
        "Stop after this many pages with status 2xx, all starts of the job together",
        default=None,
        group="What",
    )
    max_depth: int | None = _setting(
        "Follow at most this many links from a seed", default=None, group="What"
    )
    max_time: float | None = _setting(
        "Stop after this time, counted from this start",
        default=None,
        unit=units.duration,
        group="What",
    )
    max_url_length: int = _setting(
        "Longest URL, in characters; a longer link is ignored", default=2_000, group="What"
    )
    sitemaps: bool = _setting(
        "Also take URLs from the sitemaps that robots.txt names", default=False, group="What"
    )
    skip_nofollow: bool = _setting(
        "Do not follow links marked rel=nofollow", default=False, group="What"
    )

    rate: float = _setting(
        "Most requests to a server, and to an IP address: 40/min, 2/s; max for no limit",
        default=60.0,
        unit=units.rate,
        group="How fast",
    )
    total_rate: float = _setting(
        "Most requests in all", default=math.inf, unit=units.rate, group="How fast"
    )
    delay: float = _setting(
        "Least pause between a server's response and the next request to it",
        default=0.0,
        unit=units.duration,
        group="How fast",
    )
    per_server: int | Literal["auto"] = _setting(
        "Most connections to one server, and to one IP address; auto finds how many it can take",
        default=1,
        group="How fast",
    )
    connections: int | Literal["auto"] = _setting(
        "Most connections at work at once; auto finds how many this machine and its network can take",
        default=256,
        group="How fast",
    )
    per_ip: bool = _setting(
        "Hold rate, delay and connections for each IP address too, as servers may share one",
        default=True,
        group="How fast",
    )
    pipeline: int = _setting(
        "Most requests under way on one connection; of use only with --rate max",
        default=1,
        group="How fast",
    )

    policy: str = _setting(
        "Which server is visited next: breadth-first, performance, quality, capability, or MODULE:CLASS",
        default="breadth-first",
        group="What next",
    )
    quality: str | None = _setting(
        "What a URL is worth, for policies that go by it: opic, pagerank, depth, keywords:TERM,TERM, sitemap, file:PATH or MODULE:FUNCTION [default: opic]",
        default=None,
        group="What next",
    )
    max_wait: float | None = _setting(
        "Visit a server that may be asked within this time, whatever its rank [default: no bound]",
        default=None,
        unit=units.duration,
        group="What next",
    )

    cluster: str | None = _setting(
        "Share the crawl with other nodes by this Redis, alone or in cluster mode: redis://[[USER]:PASSWORD@]HOST[:PORT]/0, rediss://, or unix://PATH",
        default=None,
        group="Who",
    )
    zookeeper: str | None = _setting(
        "Let this ZooKeeper judge which nodes live: [tls://][USER:PASSWORD@]HOST:PORT,HOST:PORT/PATH [default: Redis does]",
        default=None,
        group="Who",
    )
    node: str | None = _setting(
        "Name of this node in the cluster [default: the machine's]",
        default=None,
        group="Who",
    )
    crawl_name: str | None = _setting(
        "Name of the crawl in the cluster [default: the host of the first seed, and its port if it is not the usual one]",
        default=None,
        group="Who",
    )
    owners: Path | None = _setting(
        "JSON file of andante plan --owners: which node has which servers at first",
        default=None,
        group="Who",
    )
    heartbeat: float = _setting(
        "Time from one word to the other nodes to the next",
        default=1.0,
        unit=units.duration,
        group="Who",
    )
    lease: float | None = _setting(
        "Time without a heart-beat after which a node counts as dead, 4 heart-beats or more [default: 10s with --zookeeper, else 45s]",
        default=None,
        unit=units.duration,
        group="Who",
    )
    seen: Literal["bloom", "exact"] = _setting(
        "How a cluster remembers URLs: exact, or by a Bloom filter, which may take a new one for known",
        default="exact",
        group="Who",
    )
    false_positives: float = _setting(
        "Chance that a Bloom filter takes a new URL for a known one", default=1e-9, group="Who"
    )
    recent: int = _setting(
        "URLs that a node remembers, so as not to ask the cluster for them again; 0: none",
        default=1_000_000,
        group="Who",
    )
    balance: Literal["vessels", "never"] = _setting(
        "How nodes share the work: vessels levels it, as communicating vessels do; never leaves servers with the node that found them first",
        default="vessels",
        group="Who",
    )
    max_report: int = _setting(
        "About the most URLs that a node tells the cluster's store at once",
        default=5_000,
        group="Who",
    )
    max_unheard: int = _setting(
        "Most links that wait for the cluster's store; the crawl pauses beyond it",
        default=200_000,
        group="Who",
    )

    ignore_robots: bool = _setting(
        "Do not ask for robots.txt, and do not obey it or meta robots", default=False, group="How"
    )
    allow_private: bool = _setting(
        "Connect to private, loopback and link-local addresses too (a seed's own host may be there without it)",
        default=False,
        group="How",
    )
    public_only: bool = _setting(
        "Connect to no such address for a seed's own host either: for seeds that strangers have given",
        default=False,
        group="How",
    )
    user_agent: str = _setting(
        "The User-Agent header; its first word is the name looked up in robots.txt",
        default="andante/0.1 (+https://pypi.org/project/andante/)",
        group="How",
    )
    header: tuple[str, ...] = _setting(
        "Header to send with each request, as 'Name: value'; WARC files record it; Authorization, Cookie and Proxy-Authorization go to the scheme, host and port of the seeds only, not to where these redirect; repeatable",
        default=(),
        group="How",
    )
    secret_header: tuple[str, ...] = _setting(
        "Name of a --header that goes to the scheme, host and port of the seeds only, as Authorization does; repeatable",
        default=(),
        group="How",
    )
    cookies: bool = _setting(
        "Keep cookies, and send them back where they belong", default=True, group="How"
    )
    resolve: tuple[str, ...] = _setting(
        "Connect to this IP address for this host and port, without DNS; repeatable",
        default=(),
        group="How",
    )
    ca_file: Path | None = _setting(
        "PEM file of certificates to trust besides the system's", default=None, group="How"
    )

    connect_timeout: float = _setting(
        "Longest time to connect, TLS included", default=10.0, unit=units.duration, group="Limits"
    )
    first_byte_timeout: float = _setting(
        "Longest wait for the first byte of a response",
        default=30.0,
        unit=units.duration,
        group="Limits",
    )
    idle_timeout: float = _setting(
        "Longest silence within a response", default=15.0, unit=units.duration, group="Limits"
    )
    total_timeout: float = _setting(
        "Longest time for a whole response; a body under way is cut then, and kept",
        default=120.0,
        unit=units.duration,
        group="Limits",
    )
    max_header: int = _setting(
        "Largest response header; a larger one is an error",
        default=64 * 1024,
        unit=units.size,
        group="Limits",
    )
    max_body: int = _setting(
        "Largest body as transferred; a larger one is cut there, and kept",
        default=10 * 2**20,
        unit=units.size,
        group="Limits",
    )
    max_decoded: int = _setting(
        "Largest body after decompression; a larger one is an error",
        default=50 * 2**20,
        unit=units.size,
        group="Limits",
    )
    body_memory: int = _setting(
        "Most memory for bodies that are being received or wait to be read; those beyond it go into files of the job",
        default=256 * 2**20,
        unit=units.size,
        group="Limits",
    )
    max_links: int = _setting(
        "Most links taken from one page; those after are ignored", default=10_000, group="Limits"
    )
    max_redirects: int = _setting(
        "Most redirects in a chain; a longer one is an error", default=10, group="Limits"
    )
    max_crawl_delay: float = _setting(
        "Longest Crawl-delay of robots.txt that is kept to; a server that asks for more is left alone",
        default=300.0,
        unit=units.duration,
        group="Limits",
    )
    max_buffer: int = _setting(
        "Most output, with URLs that ended without a page, that waits for the disk; the crawl pauses beyond it",
        default=64 * 2**20,
        unit=units.size,
        group="Limits",
    )
    retries: int = _setting("Times that a failed fetch is tried again", default=2, group="Limits")
    retry_wait: float = _setting(
        "Wait before a URL, or a server that fails, is tried again; doubled each time; Retry-After may ask for more",
        default=2.0,
        unit=units.duration,
        group="Limits",
    )
    give_up_after: int = _setting(
        "Failures in a row after which a server that has never answered is given up",
        default=5,
        group="Limits",
    )
    set_aside: float = _setting(
        "Time for which a server that keeps failing is left alone before it is tried again",
        default=900.0,
        unit=units.duration,
        group="Limits",
    )
    set_asides: int = _setting(
        "Times that a server is set aside before it is given up", default=3, group="Limits"
    )

    def __post_init__(self) -> None:
        for name, value in from_strings(vars(self)).items():
            object.__setattr__(self, name, value)
        if problem := next(problems(self), ""):
            raise SettingsError(problem)

    @cached_property
    def robots_name(self) -> str:
        """The product token of the user agent, as robots.txt names it."""
        return re.split(r"[/\s]", self.user_agent, maxsplit=1)[0].lower()


def from_strings(values: Mapping[str, object], *, where: str = "") -> dict[str, Any]:
    """Turn settings as written (strings with units, numbers, lists) into the values of `Settings`.

    Args:
        values: by name, as in the configuration file or as keywords; values of the final type pass.
        where: said in front of an error, such as the file's name.

    Raises:
        SettingsError: unknown name (with the nearest known one) or unusable value.
    """
    hints = get_type_hints(Settings)
    known = {item.name: item for item in fields(Settings)}
    result: dict[str, Any] = {}
    for written, value in values.items():
        name = written.replace("-", "_")
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)[0]
            raise SettingsError(f"{where}unknown setting {written!r}; did you mean {near!r}?")
        try:
            result[name] = typed(value, hints[name], known[name].metadata["unit"])
        except (TypeError, ValueError) as error:
            raise SettingsError(f"{where}{written}: {error}") from None
    return result


def load(path: Path) -> dict[str, Any]:
    """Read a TOML configuration file: keys as the flags, ``seeds`` besides.

    Raises:
        SettingsError: the file cannot be read, is not TOML, or has unknown keys or bad values.
    """
    try:
        table = tomllib.loads(path.read_text())
    except OSError as error:
        raise SettingsError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not TOML: {error}") from None
    seeds = table.pop("seeds", [])
    if not isinstance(seeds, list) or not all(isinstance(seed, str) for seed in seeds):
        raise SettingsError(f"{path}: seeds: a list of URLs is wanted")
    return {"seeds": seeds, **from_strings(table, where=f"{path}: ")}


def default(name: str) -> Any:
    """Return the default of a setting."""
    item = next(item for item in fields(Settings) if item.name == name)
    return item.default_factory() if item.default_factory is not MISSING else item.default
