"""``andante plan``: what will my crawl cost?"""

from __future__ import annotations

import argparse
import sys
import tomllib
from pathlib import Path
from random import Random

import msgspec

from andante.crawl.settings import SettingsError
from andante.plan import METHODS, File, Plan, plan, read
from andante.plan.report import as_json, lines
from andante.plan.reservation import reserved


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "plan",
        help="what a crawl will cost, and which nodes run what",
        description="Assign the tasks of a crawl to nodes at the least cost, and tell the cost.",
    )
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="TOML file of nodes, prices and tasks"
    )
    parser.add_argument(
        "--reserved",
        action="append",
        metavar="N|TYPE=N|best",
        help="nodes that are reserved: the first N of the file, or of each type as in small=3,large=1, or those for which the total is least [default: best]",
    )
    parser.add_argument(
        "--method",
        choices=METHODS,
        default="search",
        metavar="NAME",
        help=f"how tasks are assigned, one of {', '.join(METHODS)}; matching is source 4's [default: search]",
    )
    parser.add_argument("--json", action="store_true", help="print the plan as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    file = _read(arguments.file)
    problem = file.problem
    if not problem.tasks:
        raise SettingsError(f"{arguments.file}: there are no tasks: give at least one [[task]]")
    for task in problem.fits_none():
        raise SettingsError(
            f"{arguments.file}: task {task.name!r} is larger than any node: no type has all of its cpu, memory and bandwidth"
        )
    try:
        held = reserved(arguments.reserved or ["best"], problem.nodes)
    except ValueError as error:
        raise SettingsError(f"--reserved: {error}") from None
    for kind in problem.nodes:
        if kind.is_odd:
            print(
                f"andante: node {kind.name!r}: adding one costs less than reserving and using it: nobody would reserve",
                file=sys.stderr,
            )
    found = plan(problem, held, chance=Random("andante plan").random, method=arguments.method)
    _print(found, as_text=not arguments.json)
    return 0


def _print(found: Plan, *, as_text: bool) -> None:
    if as_text:
        print("\n".join(lines(found)))
    else:
        print(msgspec.json.format(msgspec.json.encode(as_json(found)), indent=2).decode())


def _read(path: Path) -> File:
    try:
        return read(tomllib.loads(path.read_text()))
    except OSError as error:
        raise SettingsError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not TOML: {error}") from None
    except ValueError as error:
        raise SettingsError(f"{path}: {error}") from None
