"""The command line: one module for each command, loaded when that command is wanted."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any, NoReturn

from andante.errors import INTERRUPTED, AndanteError
from andante.printed import printed

COMMANDS = {
    "crawl": "crawl sites into files",
    "status": "what a job holds, or how a cluster does",
    "rate": "change the speed of a crawl while it runs",
    "forget": "delete what a cluster keeps of a crawl",
    "simulate": "how long a crawl will take, on a simulated web",
    "plan": "what a crawl will cost, and which nodes run what",
    "experiment": "the experiments behind the algorithms, simulated",
}
"""Each is the name of a module, whose `add_to` gives the command's parser its arguments."""


class Parser(argparse.ArgumentParser):
    """A parser that says what is wrong in one line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)
        # What begins like a negative number is a value, and no flag: whoever reads it says what is allowed.
        self._negative_number_matcher = re.compile(r"-\.?\d")
        self._is_mixing = False

    def parse_known_args(  # type: ignore[override]  # typeshed has its overloads
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Take what a command is given on both sides of its flags, too; `argparse` takes it only where it stands together."""
        found, rest = super().parse_known_args(args, namespace)
        is_number = self._negative_number_matcher.match
        has_flag = any(each.startswith("-") and not is_number(each) for each in rest)
        if not rest or has_flag or self._is_mixing or self._subparsers is not None:
            return found, rest
        self._is_mixing = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_mixing = False

    def error(self, message: str) -> NoReturn:
        """Exit with status 2."""
        self.exit(2, f"andante: {message}; see {self.prog} --help\n")


def parser(wanted: Iterable[str] = COMMANDS) -> argparse.ArgumentParser:
    """Return the parser of the whole command; the reference page is made from it.

    Args:
        wanted: the commands whose arguments it has to know; of the others it knows the names.
    """
    root = Parser(
        prog="andante",
        description="A web crawler that is fast, polite and sure.",
        epilog="Exit status: 0 done, 1 the crawl failed or got no page, 2 wrong usage, 130 interrupted.",
    )
    root.add_argument("--version", action="version", version=f"andante {version('andante')}")
    commands = root.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary)
        if name in wanted:
            import_module(f"andante.cli.{name}").add_to(command)
    return root


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    given = sys.argv[1:] if argv is None else list(argv)
    words = (each for each in given if not each.startswith("-"))
    arguments = parser([*words][:1]).parse_args(given)
    try:
        return int(arguments.run(arguments))
    except AndanteError as error:
        print(printed(f"andante: {error}"), file=sys.stderr)
        return error.exit_status
    except BrokenPipeError:
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
