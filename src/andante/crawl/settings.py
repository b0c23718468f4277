"""The settings of a crawl: one frozen tree, from flags, a TOML file or keyword arguments.

Each field is a flag of ``andante crawl``, a key of the configuration file and a keyword of `andante.Crawl`; its text is its help.
"""

from __future__ import annotations

import difflib
import math
import re
import tomllib
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from andante import units


class SettingsError(ValueError):
    """A setting is wrong; the message is one line that says which, and what is allowed."""


Scope = Literal["host", "site", "any"]


def _setting(default: Any, text: str, *, unit: Callable[[str], Any] | None = None, group: str) -> Any:
    factory = {"default_factory": lambda: default} if isinstance(default, tuple) else {"default": default}
    return field(metadata={"help": text, "unit": unit, "group": group}, **factory)  # type: ignore[call-overload]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a crawl keeps to. Times are seconds, sizes bytes, rates pages a minute.

    Raises:
        SettingsError: a value is out of its range.
    """

    job: Path | None = _setting(None, "Directory of the job; the same again goes on with it [default: named after the first seed's host]", group="Job")
    output: tuple[Path, ...] = _setting((), "File for the pages: .warc.gz, .warc, .jsonl, .jsonl.gz or .parquet; repeatable [default: pages.warc.gz in the job directory]", group="Job")
    commit_interval: float = _setting(1.0, "Time between commits of the job to disk", unit=units.duration, group="Job")
    warc_size: int = _setting(10**9, "Size at which a WARC file is full and the next one begins", unit=units.size, group="Job")

    scope: Scope = _setting("host", "Follow links within the seeds' hosts, their registrable domains (site), or any", group="What")
    include: tuple[str, ...] = _setting((), "Only URLs in which this regular expression is found; repeatable", group="What")
    exclude: tuple[str, ...] = _setting((), "No URLs in which this regular expression is found; repeatable", group="What")
    max_pages: int | None = _setting(None, "Stop after this many pages with status 2xx", group="What")
    max_depth: int | None = _setting(None, "Follow at most this many links from a seed", group="What")
    max_time: float | None = _setting(None, "Stop after this time", unit=units.duration, group="What")
    max_url_length: int = _setting(2_000, "Longest URL, characters", group="What")
    sitemaps: bool = _setting(False, "Also take URLs from the sitemaps that robots.txt names", group="What")
    skip_nofollow: bool = _setting(False, "Do not follow links marked rel=nofollow", group="What")

    rate: float = _setting(60.0, "Most pages a minute from a server, and from an IP address: 40/min, 2/s, max", unit=units.rate, group="How fast")
    total_rate: float = _setting(math.inf, "Most pages a minute in all", unit=units.rate, group="How fast")
    delay: float = _setting(0.0, "Least pause between a server's response and the next request to it", unit=units.duration, group="How fast")
    per_server: int = _setting(1, "Connections to one server, and to one IP address", group="How fast")
    connections: int = _setting(256, "Connections in all", group="How fast")
    per_ip: bool = _setting(True, "Politeness also by IP address, for servers that share one", group="How fast")
    pipeline: int = _setting(1, "Requests sent ahead on a connection; only with --rate max", group="How fast")

    ignore_robots: bool = _setting(False, "Do not ask for robots.txt, and do not obey it or meta robots", group="How")
    allow_private: bool = _setting(False, "Connect to private, loopback and link-local addresses too (a seed's own host may always)", group="How")
    user_agent: str = _setting("andante/0.1 (+https://pypi.org/project/andante/)", "The User-Agent header; its first word is the name looked up in robots.txt", group="How")
    header: tuple[str, ...] = _setting((), "Header to send with each request, as 'Name: value'; repeatable", group="How")
    cookies: bool = _setting(True, "Keep cookies, per server", group="How")
    resolve: tuple[str, ...] = _setting((), "Connect to ADDR for HOST:PORT, as HOST:PORT:ADDR; repeatable", group="How")
    ca_file: Path | None = _setting(None, "Certificates (PEM) to trust besides the system's", group="How")

    connect_timeout: float = _setting(10.0, "Longest time to connect, TLS included", unit=units.duration, group="Limits")
    first_byte_timeout: float = _setting(30.0, "Longest wait for the first byte of a response", unit=units.duration, group="Limits")
    idle_timeout: float = _setting(15.0, "Longest silence within a response", unit=units.duration, group="Limits")
    total_timeout: float = _setting(120.0, "Longest time for a whole response", unit=units.duration, group="Limits")
    max_header: int = _setting(64 * 1024, "Largest response header; a larger one is an error", unit=units.size, group="Limits")
    max_body: int = _setting(10 * 2**20, "Largest body as transferred; a longer one is cut there", unit=units.size, group="Limits")
    max_decoded: int = _setting(50 * 2**20, "Largest body after decompression; a larger one is an error", unit=units.size, group="Limits")
    max_links: int = _setting(10_000, "Most links taken from one page", group="Limits")
    max_redirects: int = _setting(10, "Most redirects in a chain", group="Limits")
    max_crawl_delay: float = _setting(300.0, "Longest Crawl-delay of robots.txt that is kept to; a server that asks for more is left alone", unit=units.duration, group="Limits")
    max_buffer: int = _setting(64 * 2**20, "Most output that waits for the disk; the crawl pauses beyond it", unit=units.size, group="Limits")
    retries: int = _setting(2, "Times that a failed fetch is tried again", group="Limits")
    retry_wait: float = _setting(10.0, "Wait before trying again; doubled each time; Retry-After may ask for more", unit=units.duration, group="Limits")

    def __post_init__(self) -> None:
        _check(self)

    @property
    def interval(self) -> float:
        """Least seconds between two requests to a server."""
        return 60 / self.rate

    @property
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
            result[name] = _typed(value, hints[name], known[name].metadata["unit"])
        except (TypeError, ValueError) as error:
            raise SettingsError(f"{where}{name}: {error}") from None
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


def _typed(value: object, hint: Any, unit: Callable[[str], Any] | None) -> Any:
    if get_origin(hint) in (Union, types.UnionType):
        if value is None:
            return None
        hint = next(item for item in get_args(hint) if item is not types.NoneType)
    if get_origin(hint) is tuple:
        items = [value] if isinstance(value, str | Path) else value
        if not isinstance(items, Iterable):
            raise TypeError(f"{value!r} is not a list")
        return tuple(_typed(item, get_args(hint)[0], unit) for item in items)
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            raise ValueError(f"{value!r} is not one of {', '.join(get_args(hint))}")
        return value
    if isinstance(value, str) and unit is not None:
        return unit(value)
    if hint is Path and isinstance(value, str | Path):
        return Path(value)
    if hint is bool and not isinstance(value, bool):
        raise TypeError(f"{value!r} is not true or false")
    if hint is int and isinstance(value, str):
        return int(value.replace("_", "")) if value.strip().isdigit() else _refuse(value, "a whole number")
    if unit is not None and not isinstance(value, hint | int) or isinstance(value, bool) and hint is not bool:
        return _refuse(value, "a text with its unit")
    if not isinstance(value, hint) and not (hint is float and isinstance(value, int)):
        return _refuse(value, f"{'a whole number' if hint is int else 'a text'}")
    return value


def _refuse(value: object, wanted: str) -> Any:
    raise ValueError(f"{value!r} is not {wanted}")


_LEAST: dict[str, float] = {
    "max_pages": 1,
    "max_depth": 0,
    "per_server": 1,
    "connections": 1,
    "pipeline": 1,
    "max_links": 0,
    "max_redirects": 0,
    "retries": 0,
    "max_url_length": 10,
    "max_header": 256,
    "max_body": 0,
    "max_decoded": 0,
}


def _check(settings: Settings) -> None:
    for name, least in _LEAST.items():
        value = getattr(settings, name)
        if value is not None and value < least:
            raise SettingsError(f"{name}: {value} is below {least:g}")
    for name in ("connect_timeout", "first_byte_timeout", "idle_timeout", "total_timeout", "rate", "total_rate", "commit_interval"):
        if not getattr(settings, name) > 0:
            raise SettingsError(f"{name}: it must be above 0")
    for name in ("include", "exclude"):
        for pattern in getattr(settings, name):
            try:
                re.compile(pattern)
            except re.error as error:
                raise SettingsError(f"{name}: {pattern!r} is not a regular expression: {error}") from None
    for line in settings.header:
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n\0]*", line):
            raise SettingsError(f"header: {line!r} is not of the form 'Name: value'")
    for rule in settings.resolve:
        if not re.fullmatch(r"[^:]+:\d+:.+", rule):
            raise SettingsError(f"resolve: {rule!r} is not of the form HOST:PORT:ADDR")
    if not settings.user_agent.strip() or re.search(r"[\r\n\0]", settings.user_agent):
        raise SettingsError("user_agent: it must be one line, and not empty")
    if settings.ca_file and not settings.ca_file.is_file():
        raise SettingsError(f"ca_file: {settings.ca_file} is not a file")


def default(name: str) -> Any:
    """Return the default of a setting."""
    item = next(item for item in fields(Settings) if item.name == name)
    return item.default_factory() if item.default_factory is not MISSING else item.default
