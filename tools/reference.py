"""Write docs/reference/ from the code: ``python tools/reference.py`` writes, ``--check`` says what is out of date."""

from __future__ import annotations

import argparse
import ast
import inspect
import os
import sys
from collections.abc import Iterator
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

os.environ["COLUMNS"] = "100"  # help is wrapped alike everywhere

from andante.cli import parser
from andante.cli.flags import default_text
from andante.crawl import ends, robots, settings
from andante.fetch import outcome

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
        "Each is a flag of `andante crawl` (`--max-pages`), a key of the TOML file given with `--config` (`max_pages` or `max-pages`) and a keyword",
        "of `andante.Crawl` (`max_pages`). Flags win over the file. In the file, `seeds` is a list of URLs.\n",
    ]
    group = ""
    for item in fields(settings.Settings):
        if item.metadata["group"] != group:
            group = item.metadata["group"]
            lines += [f"\n## {group}\n", "| setting | default | what it does |", "|---|---|---|"]
        lines.append(f"| `{item.name}` | {_code(default_text(item))} | {item.metadata['help']} |")
    return "\n".join(lines) + "\n"


def limits() -> str:
    """Every bound: the settings of the group Limits, and the constants in the code whose names end in _MAX."""
    lines = [
        "# Limits\n",
        "Nothing in a crawl grows without bound. These can be set:\n",
        "| setting | default | what it bounds |",
        "|---|---|---|",
    ]
    bounds = {
        "connections",
        "per_server",
        "warc_size",
        "max_url_length",
        "max_pages",
        "max_depth",
        "max_time",
    }
    for item in fields(settings.Settings):
        if item.metadata["group"] == "Limits" or item.name in bounds:
            lines.append(
                f"| `{item.name}` | {_code(default_text(item)) or 'none'} | {item.metadata['help']} |"
            )
    lines += ["\nThese are fixed:\n", "| constant | value | what it bounds |", "|---|---|---|"]
    lines += [f"| `{name}` | {value} | {text} |" for name, value, text in sorted(_constants())]
    return "\n".join(lines) + "\n"


def outcomes() -> str:
    """The states in which URLs end, and the reasons."""
    lines = [
        "# Outcomes\n",
        "Every URL that the crawl meets ends in one state, with a reason; `andante status DIR --urls` lists those that did not become a page.\n",
        "| state | meaning |",
        "|---|---|",
        "| `fetched` | a final response came, and is in the outputs; the reason is its status |",
        "| `redirected` | the response named another URL, which is crawled in its place |",
        "| `failed` | no usable response, after all attempts |",
        "| `excluded` | not asked for, or the page was not kept |",
        "| `queued` | it waits |",
        "\n## Reasons for `failed`\n",
        "| reason | tried again | meaning |",
        "|---|---|---|",
    ]
    texts = _docstrings(outcome.Outcome)
    for each in outcome.Outcome:
        if each is not outcome.Outcome.OK:
            lines.append(f"| `{each}` | {'yes' if each.retryable else 'no'} | {texts[each.name]} |")
    lines += [f"| `{reason}` | no | {text} |" for reason, text in ends.FAILURES.items()]
    lines += ["\n## Reasons for `excluded`\n", "| reason | meaning |", "|---|---|"]
    lines += [
        f"| `{reason}` | {text} |" for reason, text in (ends.EXCLUSIONS | robots.EXCLUSIONS).items()
    ]
    return "\n".join(lines) + "\n"


PAGES = {"cli.md": cli, "settings.md": configuration, "limits.md": limits, "outcomes.md": outcomes}


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _docstrings(kind: type) -> dict[str, str]:
    """Return the text under each name in a class or module."""
    tree = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(tree, ast.ClassDef)
    return {name: text for name, text, _ in _described(tree.body)}


def _described(body: list[ast.stmt]) -> Iterator[tuple[str, str, ast.expr]]:
    for statement, following in pairwise(body):
        target = (
            statement.targets[0]
            if isinstance(statement, ast.Assign)
            else getattr(statement, "target", None)
        )
        text = following.value if isinstance(following, ast.Expr) else None
        if (
            isinstance(target, ast.Name)
            and isinstance(text, ast.Constant)
            and isinstance(text.value, str)
        ):
            yield target.id, " ".join(text.value.split()), statement.value  # type: ignore[attr-defined]


def _constants() -> Iterator[tuple[str, str, str]]:
    source = DIRECTORY.parent.parent / "src" / "andante"
    for path in sorted(source.rglob("*.py")):
        module = ".".join(path.relative_to(source).with_suffix("").parts)
        for name, text, value in _described(ast.parse(path.read_text()).body):
            if name.endswith("_MAX"):
                yield f"{module}.{name.lstrip('_')}", ast.unparse(value), text


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
