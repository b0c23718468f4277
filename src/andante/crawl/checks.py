"""What settings must keep to: bounds, forms, and what does not go together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from andante.crawl.values import file_problem, header_problem
from andante.extras import how_to_install
from andante.store.formats import SUFFIXES

if TYPE_CHECKING:
    from andante.crawl.settings import Settings

_LEAST: dict[str, float] = {
    "max_pages": 1,
    "max_depth": 0,
    "per_server": 1,
    "connections": 1,
    "pipeline": 1,
    "max_links": 0,
    "max_redirects": 0,
    "retries": 0,
    "give_up_after": 1,
    "set_asides": 0,
    "max_url_length": 10,
    "max_header": 256,
    "max_body": 0,
    "max_decoded": 0,
    "body_memory": 0,
    "recent": 0,
    "max_report": 1,
    "max_unheard": 1,
}


_ABOVE_ZERO = (
    "rate",
    "total_rate",
    "commit_interval",
    "max_wait",
    "heartbeat",
    "lease",
    "connect_timeout",
    "first_byte_timeout",
    "idle_timeout",
    "total_timeout",
)

_FORMS = {
    "header": (r"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n\0]*", "'Name: value'"),
    "resolve": (r"[^:]+:\d+:.+", "HOST:PORT:ADDR"),
}


def problems(settings: Settings) -> Iterator[str]:
    """Return what is wrong with settings, a line each that begins with the name of one."""
    for name, least in _LEAST.items():
        value = getattr(settings, name)
        if isinstance(value, int) and value < least:
            yield f"{name}: {value} is below {least:g}"
    for name in _ABOVE_ZERO:
        value = getattr(settings, name)
        if value is not None and not value > 0:
            yield f"{name}: it must be above 0"
    for name, (form, shown) in _FORMS.items():
        for value in getattr(settings, name):
            if not re.fullmatch(form, value):
                yield f"{name}: {value!r} is not of the form {shown}"
    for name in ("include", "exclude"):
        for pattern in getattr(settings, name):
            yield from _pattern_problems(name, pattern)
    yield from _conflicts(settings)
    yield from _output_problems(settings.output)
    if not settings.user_agent.strip() or re.search(r"[\r\n\0]", settings.user_agent):
        yield "user_agent: it must be one line, and not empty"
    problems = {
        "user_agent": header_problem(settings.user_agent),
        "header": next(filter(None, map(header_problem, settings.header)), ""),
        "ca_file": file_problem(settings.ca_file) if settings.ca_file else "",
    }
    for name, problem in problems.items():
        if problem:
            yield f"{name}: {problem}"


def _conflicts(settings: Settings) -> Iterator[str]:
    if settings.per_server == "auto" and settings.pipeline > 1:
        yield "pipeline: it does not go with per_server auto; leave one of them out"
    names = {header.partition(":")[0].lower() for header in settings.header}
    for name in settings.secret_header:
        if name.lower() not in names:
            yield f"secret_header: there is no header {name!r}; give it with header, too"
    if settings.public_only and settings.allow_private:
        yield "public_only: it does not go with allow_private; leave one of them out"
    if (settings.lease or 10.0) < 4 * settings.heartbeat:  # else no node would be seen to be silent
        yield "lease: it must be 4 times the heartbeat, or more"


def _output_problems(paths: tuple[Path, ...]) -> Iterator[str]:
    for path in paths:
        if not path.name.endswith(SUFFIXES):
            yield f"output: {path} does not end in one of {', '.join(SUFFIXES)}"
        if path.suffix == ".parquet" and not find_spec("pyarrow"):
            yield f"output: Parquet needs pyarrow; {how_to_install('parquet')}"
    if len({path.absolute() for path in paths}) < len(paths):
        yield "output: the same file is named twice"


def _pattern_problems(name: str, pattern: str) -> Iterator[str]:
    try:
        re.compile(pattern)
    except re.error as error:
        yield f"{name}: {pattern!r} is not a regular expression: {error}"
