"""Write docs/reference/ from the code: ``python tools/reference.py`` writes, ``--check`` says what is out of date."""

from __future__ import annotations

import argparse
import ast
import inspect
import os
import re
import sys
from dataclasses import Field, fields
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any

os.environ["COLUMNS"] = "100"  # help is wrapped alike everywhere

import msgspec

from andante import units
from andante import url as urls
from andante.cli import parser
from andante.cli.flags import default_text
from andante.crawl import (
    api,
    aside,
    aside_process,
    ends,
    engine,
    reader,
    redirects,
    robots,
    robots_cache,
    settings,
    state,
    throttle,
)
from andante.fetch import (
    client,
    coding,
    connection,
    cookies,
    dns,
    lenient,
    outcome,
    set_cookie,
)
from andante.fetch import robots as robots_txt
from andante.flow import REASONS, Again, Sample, verdict
from andante.frontier import frontier
from andante.observe.events import EVENTS
from andante.parse import collect, html, robots_meta, robots_rules, scan, sitemap, tokens, tree
from andante.parse import robots as robots_grammar
from andante.plan.file import DemandTable, NodeTable, TaskTable
from andante.sim.machine import MachineTraits
from andante.sim.population import Population
from andante.sim.web import WebTraits
from andante.store import journal

DIRECTORY = Path(__file__).parent.parent / "docs" / "reference"
NOTE = "<!-- Made by tools/reference.py from the code: change it there. -->\n\n"


def cli() -> str:
    """The help of each command."""
    root = parser()
    commands = next(
        action for action in root._actions if isinstance(action, argparse._SubParsersAction)
    )
    pages = [
        ("andante", root),
        *((f"andante {name}", each) for name, each in commands.choices.items()),
    ]
    return "# The command line\n\n" + "\n".join(
        f"## {name}\n\n```text\n{each.format_help().rstrip()}\n```\n" for name, each in pages
    )


def configuration() -> str:
    """All settings, with the defaults."""
    lines = [
        "# Settings\n",
        "Each is a flag of `andante crawl` (`--max-pages`), a key of the TOML file given with `--config` (`max_pages` or `max-pages`), and a keyword",
        "of `andante.crawl` and `andante.Crawl` (`max_pages`). Flags win over the file. What is on by default is turned off by a flag with `no`: `cookies` by `--no-cookies`.\n",
        "Times are written `500ms`, `10s`, `10m`, `2h`, `1d`; sizes `500kB`, `64MiB`, `1GB`; rates `40/min`, `2/s`, `100/h` or `max`. Repeatable ones are lists in TOML and Python.",
        "The file may also have `seeds`, a list of URLs:\n",
        "```toml",
        'seeds = ["https://docs.example.org/"]',
        'rate = "40/min"',
        "max_pages = 500",
        "exclude = ['/search[?]', '[.]pdf$']",
        "```",
    ]
    group = ""
    for item in fields(settings.Settings):
        if item.metadata["group"] != group:
            group = item.metadata["group"]
            lines += [f"\n## {group}\n", "| setting | default | what it does |", "|---|---|---|"]
        lines.append(f"| `{item.name}` | {_default(item)} | {_help(item)} |")
    return "\n".join(lines) + "\n"


def limits() -> str:
    """Every bound: those of the settings, and those that are fixed."""
    lines = [
        "# Limits\n",
        "Nothing in a crawl grows without bound. These bounds are [settings](settings.md):\n",
        "| setting | default | what it bounds |",
        "|---|---|---|",
    ]
    for item in fields(settings.Settings):
        if item.metadata["group"] == "Limits" or item.name in BOUNDS:
            lines.append(f"| `{item.name}` | {_default(item) or 'none'} | {_help(item)} |")
    lines += ["\nThese are fixed:\n", "| what | at most |", "|---|---|"]
    lines += [f"| {what} | {value} |" for what, value in FIXED]
    return "\n".join(lines) + "\n"


BOUNDS = {
    "connections",
    "per_server",
    "warc_size",
    "max_url_length",
    "max_pages",
    "max_depth",
    "max_time",
}

FIXED = [
    (
        "time series that a job keeps",
        units.format_duration(journal.SERIES_MAX * engine.SAMPLE_PERIOD),
    ),
    (
        "links of URLs that wait, in memory though they are on disk; and so many read again to be taken next",
        f"{frontier.RESIDENT_MAX:,}",
    ),
    (
        "URLs found since the last commit; the crawl pauses beyond it",
        f"{state.UNSTORED_MAX:,}",
    ),
    ("redirects remembered to tell a loop", f"{redirects.REDIRECTS_MAX:,}"),
    ("Retry-After that is kept to", units.format_duration(throttle._HOLD_MAX)),
    ("robots.txt that counts", units.format_binary(robots_txt.SIZE_MAX)),
    ("redirects of a robots.txt", robots_txt.HOPS_MAX),
    ("time that a robots.txt holds", units.format_duration(robots_txt.TTL)),
    ("a line of it; what is beyond is cut off", units.format_binary(robots_grammar.LINE_MAX)),
    ("sitemaps that it names; those after are ignored", f"{robots_grammar.SITEMAPS_MAX:,}"),
    (
        "texts between its wildcards that are looked for to decide about one URL; beyond it the URL is not allowed",
        f"{robots_rules.PIECES_MAX:,}",
    ),
    (
        "rules of robots.txt in memory; others are read from the job when they are needed",
        units.format_binary(robots_cache.KEPT_MAX),
    ),
    ("rules that are compiled", units.format_binary(robots_cache.COMPILED_MAX)),
    (
        "a packed robots.txt that goes from node to node; a longer one is read again there",
        units.format_binary(robots_cache.PACKED_MAX),
    ),
    ("a sitemap, after decompression", units.format_binary(sitemap.MAX_BYTES)),
    ("URLs of a sitemap; those after are ignored", f"{sitemap.MAX_ENTRIES:,}"),
    (
        "elements and attributes of a sitemap; those after are ignored",
        f"{sitemap.MAX_ELEMENTS:,}",
    ),
    ("a tag or comment of a sitemap; a longer one ends it", units.format_binary(sitemap.MAX_TOKEN)),
    ("all URLs of a sitemap together", f"{sitemap.MAX_LOCS:,} characters"),
    ("a URL in a sitemap as written; a longer one is ignored", f"{sitemap.MAX_LOC:,} characters"),
    ("content codings of a response", coding._CODINGS_MAX),
    ("cookies of a site", cookies.COOKIES_MAX),
    ("cookies of all sites together", units.format_binary(cookies.BYTES_MAX)),
    (
        "cookies of a request; those that would come last are left out",
        units.format_binary(cookies.HEADER_MAX),
    ),
    ("a cookie, name and value; a larger one is ignored", units.format_binary(set_cookie.SIZE_MAX)),
    (
        "an attribute of a cookie; a larger one is ignored",
        units.format_binary(set_cookie.ATTRIBUTE_MAX),
    ),
    ("a `Set-Cookie` field; a larger one is ignored", units.format_binary(set_cookie.LINE_MAX)),
    ("time after which any cookie ends", f"{set_cookie.AGE_MAX // 86_400} days"),
    ("addresses of a host that are tried for one connection", client._ADDRESSES_MAX),
    ("addresses of a host that are kept", dns.ADDRESSES_MAX),
    ("names in the DNS cache", f"{dns.CACHE_SIZE:,}"),
    (
        "chunk framing and trailers of a response in a row, beyond `max_header` and the bytes that the body with them would take in chunks of one byte",
        units.format_binary(connection._FRAMING_MAX),
    ),
    (
        "what comes of a response before it is no more read again as browsers do",
        units.format_binary(lenient.AGAIN_MAX),
    ),
    ("a line between odd chunks, its extensions included", units.format_binary(lenient._LINE_MAX)),
    (
        "a page that is read as a tree; larger ones are read as [tokens](../explanation/links.md#bounds)",
        units.format_binary(tree.MAX_TREE_BYTES),
    ),
    ("tags of such a page", f"{tree.MAX_TREE_TAGS:,}"),
    ("elements that such a page could make", f"{tree.MAX_TREE_COPIES:,}"),
    (
        "an attribute value, or four times `max_url_length`; one with a longer value is as if it were not there",
        units.format_binary(collect.VALUE_MAX),
    ),
    ("a tag in which attributes are looked for", units.format_binary(tokens.TAG_MAX)),
    ("elements other than `a` that are read of a page", f"{scan.ELEMENTS_MAX:,}"),
    ("directives for robots in an element or header", f"{robots_meta.DIRECTIVES_MAX:,}"),
    (
        "a title",
        f"{html.TITLE_MAX:,} characters, of {units.format_binary(tokens.TITLE_SOURCE_MAX)} of source",
    ),
    ("text of a page, where a quality wants it", f"{tree.TEXT_MAX:,} characters"),
    ("text of a link, likewise", f"{tree.ANCHOR_MAX} characters"),
    ("all links of a page together", f"{reader.LINKS_SIZE_MAX:,} characters"),
    ("a host name", f"{urls.HOST_LENGTH_MAX} characters"),
    ("links remembered with their URLs", f"{urls.MEMO_MAX:,} characters"),
    (
        "a page that is read on the loop; a larger one is read [aside](../explanation/links.md#what-takes-too-long-for-the-loop)",
        units.format_binary(html.QUICK_BYTES),
    ),
    ("tags of such a page, if it needs a tree", f"{tree.QUICK_TREE_TAGS:,}"),
    ("elements that such a page could make", f"{tree.QUICK_TREE_COPIES:,}"),
    (
        "attribute values of such a page that are costly to turn into URLs",
        units.format_binary(html.QUICK_VALUES),
    ),
    (
        "a body with a content coding that is decoded on the loop",
        units.format_binary(reader.QUICK_ENCODED),
    ),
    ("a sitemap that is read on the loop", units.format_binary(sitemap.QUICK_BYTES)),
    (
        "memory to read a response aside, besides its body with and without content coding",
        units.format_binary(aside_process.MEMORY_MAX),
    ),
    (
        "time of the processor to read a response aside",
        units.format_duration(aside_process.SECONDS_MAX),
    ),
    ("wait for a response that is read aside", units.format_duration(aside.WAIT_MAX)),
    (
        "a body whose record is encoded on the loop; that of a larger one is encoded in a thread",
        units.format_binary(ends.RECORD_MAX),
    ),
    ("servers that get a row of the time series, each ten seconds", engine.SERVERS_SAMPLED),
    ("pages that the Python interface runs ahead of its user", api._PAGES_AHEAD),
    (
        "wait for responses under way when the crawl is stopped",
        units.format_duration(engine._GRACE),
    ),
]


def outcomes() -> str:
    """The states in which URLs end, and the reasons."""
    lines = [
        "# Outcomes\n",
        "Every URL that the crawl meets is in one state, with a reason. `andante status DIR --urls` lists those that ended and did not become a page.\n",
        "| state | meaning |",
        "|---|---|",
        "| `fetched` | A final response came, and is in the outputs; the reason is its status. An error status (404, 500 ...) is a response too. |",
        "| `redirected` | The response named another URL. That one is crawled, if it was not known already. |",
        "| `failed` | No usable response came, after all attempts. |",
        "| `excluded` | It was not asked for, or the page was not kept. |",
        "| `queued` | It waits. |",
        "\n## Reasons for `failed`\n",
        "Those marked are tried again, `retries` times.\n",
        "| reason | again | meaning |",
        "|---|---|---|",
    ]
    texts = _docstrings(outcome.Outcome)
    for each in outcome.Outcome:
        if each not in (outcome.Outcome.OK, outcome.Outcome.STALE):  # neither is an end in failure
            lines.append(
                f"| `{each}` | {'yes' if verdict(each).again is not Again.NEVER else ''} | {texts[each.name]} |"
            )
    lines += [f"| `{reason}` | | {_sentence(text)} |" for reason, text in ends.FAILURES.items()]
    lines += ["\n## Reasons for `excluded`\n", "| reason | meaning |", "|---|---|"]
    lines += [
        f"| `{reason}` | {_sentence(text)} |"
        for reason, text in (robots.EXCLUSIONS | ends.EXCLUSIONS).items()
    ]
    return "\n".join(lines) + "\n"


def events() -> str:
    """What --json-log says, and the time series."""
    lines = [
        "# Events and time series\n",
        "With `--json-log` a crawl writes what it does to standard error, a JSON object a line; in Python `on_event` is called with each. All have `event` and `time`",
        "(seconds since 1970); fields that do not apply are left out.\n",
        "| event | when, and its fields |",
        "|---|---|",
        *(f"| `{name}` | {_sentence(text)} |" for name, text in EVENTS.items()),
        "\n## How servers fare\n",
        "A job keeps a row, each ten seconds, for each server that was asked in them, or that back-off holds while URLs of it wait; of at most 100, the busiest. `andante status DIR --speed` prints them as CSV; `server.speed` has",
        "the same as `speed`. Rates are requests a minute, times seconds; `inf`, in JSON `null`, is no bound.\n",
        "| column | meaning |",
        "|---|---|",
        *(f"| `{name}` | {text} |" for name, text in _docstrings(Sample).items()),
        "\n## Why a rate is below its set-point\n",
        "The `reason` names what held back longest in the last minute; it is empty while the set-point is held.\n",
        "| reason | what held requests back |",
        "|---|---|",
        *(f"| `{name}` | {_sentence(text)} |" for name, text in REASONS.items()),
    ]
    return "\n".join(lines) + "\n"


def simulation() -> str:
    """The keys of a simulation file."""
    lines = [
        "# Simulation files\n",
        "What `andante simulate` reads: a TOML file with the tables below, `[crawl]` with any [settings](settings.md) of a crawl, and `seed` before them.",
        "What is left out is as by default; in `[crawl]` the `scope` is `any` unless it says otherwise.\n",
        "Times are written `500ms`, `10s`, `10m`, `2h`, `1d`, or as seconds; sizes `500kB`, or as bytes; speeds `2MB/s`, `max`, or as bytes a second. Shares are from 0 to 1.",
    ]
    for name, kind in (("web", WebTraits), ("servers", Population), ("machine", MachineTraits)):
        lines += [f"\n## `[{name}]`\n", "| key | default | meaning |", "|---|---|---|"]
        defaults = kind()
        for key, text in _docstrings(kind).items():
            value = getattr(defaults, key)
            shown = "" if value is None else "max" if value == inf else str(value).lower()
            lines.append(f"| `{key}` | {shown} | {text.replace('``', '`')} |")
    return "\n".join(lines) + "\n"


def planning() -> str:
    """The keys of a planning file."""
    lines = [
        "# Planning files\n",
        "What `andante plan` reads: a TOML file with the tables below, and before them `hours`, for how long the crawl runs (1 unless it says otherwise). A key without a default has to be there.\n",
        "Sizes are written `500MB`, `4GiB`; bandwidths `100Mbit/s`, `1Gbit/s`, `12MB/s`. Prices are numbers of any currency.",
    ]
    for kind in (NodeTable, TaskTable, DemandTable):
        texts = _docstrings(kind)
        defaults = {each.name: each for each in msgspec.structs.fields(kind)}
        lines += [f"\n## {(kind.__doc__ or '').split(':')[0].replace('``', '`')}\n"]
        lines += [
            _sentence((kind.__doc__ or "").split(": ", 1)[1].strip().rstrip(".")).replace(
                "``", "`"
            ),
            "\n| key | default | meaning |\n|---|---|---|",
        ]
        for key, text in texts.items():
            value = defaults[key].default
            shown = "" if value is msgspec.NODEFAULT else value
            lines.append(f"| `{key}` | {shown} | {text.replace('``', '`')} |")
    return "\n".join(lines) + "\n"


PAGES = {
    "planning.md": planning,
    "cli.md": cli,
    "simulation.md": simulation,
    "events.md": events,
    "settings.md": configuration,
    "limits.md": limits,
    "outcomes.md": outcomes,
}


_USUAL = re.compile(r" \[default: (.*)\]$")


def _default(item: Field[Any]) -> str:
    if said := _USUAL.search(item.metadata["help"]):
        return said[1]
    text = default_text(item)
    return f"`{text}`" if text else ""


def _help(item: Field[Any]) -> str:
    return _USUAL.sub("", item.metadata["help"])


def _sentence(text: str) -> str:
    return f"{text if text.startswith('robots.txt') else text[0].upper() + text[1:]}."


def _docstrings(kind: type) -> dict[str, str]:
    """Return the text under each name in a class."""
    tree = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for named, text in pairwise(tree.body):
        target = (
            named.targets[0] if isinstance(named, ast.Assign) else getattr(named, "target", None)
        )
        if (
            isinstance(target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
        ):
            found[target.id] = " ".join(str(text.value.value).split())
    return found


def main() -> int:
    """Write or check."""
    stale = []
    for name, make in PAGES.items():
        path = DIRECTORY / name
        text = NOTE + make()
        if not path.exists() or path.read_text() != text:
            stale.append(path.name)
            if "--check" not in sys.argv:
                path.write_text(text)
    if stale and "--check" in sys.argv:
        print(f"out of date: {', '.join(stale)}; run python tools/reference.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
