"""The command line: one module for each command."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, NoReturn

from andante.cli import crawl, experiment, forget, plan, rate, simulate, status
from andante.cluster.exchange import ClusterError, UnreachableError
from andante.crawl.settings import SettingsError
from andante.printed import printed
from andante.store.journal import JobError


class Parser(argparse.ArgumentParser):
    """A parser that says what is wrong in one line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)
        # What begins like a negative number is a value, and no flag: whoever reads it says what is allowed.
        self._negative_number_matcher = re.compile(r"-\.?\d")

    def error(self, message: str) -> NoReturn:
        """Exit with status 2."""
        self.exit(2, f"andante: {message}; see {self.prog} --help\n")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command; the reference page is made from it."""
    root = Parser(
        prog="andante",
        description="A web crawler that is fast, polite and sure.",
        epilog="Exit status: 0 done, 1 the crawl failed, 2 wrong usage, 130 interrupted.",
    )
    root.add_argument("--version", action="version", version=f"andante {version('andante')}")
    commands = root.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in (crawl, status, rate, forget, simulate, plan, experiment):
        module.add_to(commands)
    return root


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    arguments = parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except (SettingsError, JobError) as error:
        print(printed(f"andante: {error}"), file=sys.stderr)
        return 2
    except (ClusterError, UnreachableError) as error:
        print(printed(f"andante: {error}"), file=sys.stderr)
        return 1
    except BrokenPipeError:
        return 1
