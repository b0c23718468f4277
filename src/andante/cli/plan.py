"""``andante plan``: what will my crawl cost?"""

from __future__ import annotations

import argparse
import os
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from andante import units
from andante.crawl.settings import SettingsError
from andante.observe import Stats
from andante.plan import METHODS, File, Plan, Problem, best, emit, plan, read, yaml
from andante.plan.demand import Uncertain, lognormal, uncertain
from andante.plan.forecast import REFERENCE, Forecast, Measured, forecast, problem, sites
from andante.plan.report import (
    as_json,
    forecast_json,
    forecast_lines,
    lines,
    owners,
    uncertain_lines,
)
from andante.plan.reservation import reserved
from andante.store import inspect, series


def add_to(parser: argparse.ArgumentParser) -> None:
    """Give the parser of the command its description and arguments."""
    parser.description = (
        "Assign the tasks of a crawl to nodes at the least cost, and tell the cost."
    )
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        nargs="?",
        help="TOML file of nodes, prices and tasks; with --from-job without tasks, or none",
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
    parser.add_argument(
        "--optimum",
        metavar="TIME",
        type=_unit(units.duration),
        help="look so long for the optimum, and for a better bound; needs scipy",
    )
    parser.add_argument(
        "--hours",
        metavar="N",
        type=_hours,
        help="how long the crawl runs [default: the file's, or 1]",
    )
    _add_job(parser.add_argument_group("tasks measured from a crawl"))
    _add_output(parser.add_argument_group("output"))
    parser.set_defaults(run=run)


def _add_job(job: argparse._ArgumentGroup) -> None:
    job.add_argument(
        "--from-job",
        type=Path,
        metavar="DIR",
        help="a job whose sites are the tasks, finished or not",
    )
    job.add_argument(
        "--pages",
        metavar="N",
        type=_count,
        help="pages to fetch from these sites [default: as many as the job knows URLs]",
    )


def _add_output(out: argparse._ArgumentGroup) -> None:
    out.add_argument("--json", action="store_true", help="print the plan as JSON")
    out.add_argument(
        "--owners",
        type=Path,
        metavar="FILE",
        help="write which node owns which servers at first, as JSON",
    )
    out.add_argument(
        "--emit",
        choices=("kubernetes", "compose"),
        metavar="FORMAT",
        help="print the plan as YAML for an orchestrator: kubernetes or compose",
    )
    out.add_argument(
        "--image", default="andante", metavar="NAME", help="container image [default: andante]"
    )
    out.add_argument(
        "--redis",
        default="redis://redis:6379",
        metavar="URL",
        help="shared store of the cluster [default: redis://redis:6379]",
    )
    out.add_argument(
        "--zookeeper",
        default="zookeeper:2181",
        metavar="HOST:PORT",
        help="membership of the cluster; empty for none [default: zookeeper:2181]",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    file = _file(arguments)
    crawl = _forecast(arguments) if arguments.from_job else None
    task = _problem(file, crawl, arguments)
    try:
        held = reserved(arguments.reserved or ["best"], task.nodes)
    except ValueError as error:
        raise SettingsError(f"--reserved: {error}") from None
    _notice(task)
    found = _plan(task, held, arguments)
    demand = None
    if file.demand is not None:
        samples = file.demand.samples or lognormal(file.demand.mean, file.demand.deviation)
        demand = uncertain(found, samples)
        if held is None:
            found = _plan(task, demand.choices[0].reserved, arguments)
    if arguments.owners:
        _write_owners(found, arguments.owners)
    _print(found, crawl, demand, file, arguments)
    return 0


def _plan(task: Problem, held: tuple[int, ...] | None, arguments: argparse.Namespace) -> Plan:
    chance = Random("andante plan").random  # noqa: S311  # seeded, so that a plan can be had again
    found = plan(task, held, chance=chance, method=arguments.method)
    if arguments.optimum is None:
        return found
    end = time.monotonic() + arguments.optimum
    try:
        with _silent():
            return best(
                found,
                is_reserved_best=held is None,
                seconds_left=lambda: end - time.monotonic(),
            )
    except ValueError as error:
        raise SettingsError(f"--optimum: {error}") from None


@contextmanager
def _silent() -> Iterator[None]:
    """Keep what the solver prints, past Python, away from standard output."""
    sys.stdout.flush()
    before = os.dup(1)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    try:
        yield
    finally:
        os.dup2(before, 1)
        os.close(before)
        os.close(null)


def _file(arguments: argparse.Namespace) -> File:
    if arguments.file is None:
        if not arguments.from_job:
            raise SettingsError(
                "nothing to plan: give a file of nodes and tasks, or --from-job DIR"
            )
        return File(nodes=(REFERENCE,), tasks=(), hours=1.0, demand=None)
    if arguments.pages and not arguments.from_job:
        raise SettingsError("--pages: it is of use only with --from-job")
    path = arguments.file
    try:
        file = read(tomllib.loads(path.read_text()))
    except OSError as error:
        raise SettingsError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError(f"{path} is not TOML: {error}") from None
    except ValueError as error:
        raise SettingsError(f"{path}: {error}") from None
    if file.tasks and arguments.from_job:
        raise SettingsError(f"{path}: it has tasks, and --from-job measures them: leave one out")
    if not file.tasks and not arguments.from_job:
        raise SettingsError(f"{path}: there are no tasks: give at least one [[task]]")
    return file


def _forecast(arguments: argparse.Namespace) -> Forecast:
    directory = arguments.from_job
    job = inspect(directory)
    stats = Stats.from_dict(job.stats)
    if not stats.pages:
        raise SettingsError(f"{directory}: the job has no pages yet: there is nothing to measure")
    if not stats.processor:
        raise SettingsError(
            f"{directory}: the job has no record of the processor time of its pages: it was made by an earlier version"
        )
    found, guessed = sites(
        ((each.server, each.queued, each.crawl_delay) for each in job.met),
        series(directory),
        requests=stats.requests,
    )
    measured = Measured(
        pages=stats.pages,
        requests=stats.requests,
        bytes=stats.bytes,
        seconds=stats.seconds,
        processor=stats.processor,
        memory=stats.memory,
        known=job.known,
        sites=tuple(found),
        guessed=guessed,
    )
    pages = arguments.pages or stats.pages + job.queued
    return forecast(measured, pages=pages, hours=arguments.hours)


def _problem(file: File, crawl: Forecast | None, arguments: argparse.Namespace) -> Problem:
    where = arguments.file or arguments.from_job
    try:
        task = (
            problem(crawl, file.nodes)
            if crawl
            else msgspec.structs.replace(file.problem, hours=arguments.hours or file.hours)
        )
    except ValueError as error:
        raise SettingsError(f"{where}: {error}") from None
    for each in task.fits_none():
        raise SettingsError(
            f"{where}: task {each.name!r} is larger than any node: no type has all of its cpu, memory and bandwidth"
        )
    return task


def _notice(task: Problem) -> None:
    for kind in task.nodes:
        if kind.is_odd:
            print(
                f"andante: node {kind.name!r}: adding one costs less than reserving and using it, so none is worth reserving",
                file=sys.stderr,
            )


def _write_owners(found: Plan, path: Path) -> None:
    unnamed = [task.name for task in found.problem.tasks if not task.servers]
    if unnamed:
        raise SettingsError(
            f"--owners: task {unnamed[0]!r} names no servers: give servers = [...] in the file"
        )
    try:
        path.write_bytes(_encoded(owners(found)))
    except OSError as error:
        raise SettingsError(f"cannot write {path}: {error.strerror}") from None


def _print(
    found: Plan,
    crawl: Forecast | None,
    demand: Uncertain | None,
    file: File,
    arguments: argparse.Namespace,
) -> None:
    if arguments.emit:
        setting = emit.Setting(
            image=arguments.image, redis=arguments.redis, zookeeper=arguments.zookeeper
        )
        if arguments.emit == "compose":
            print(yaml.dump(emit.compose(found, setting)), end="")
        else:
            print("---\n".join(map(yaml.dump, _manifests(found, setting))), end="")
    elif arguments.json:
        values: dict[str, Any] = as_json(found)
        if crawl:
            values["forecast"] = forecast_json(crawl, file.nodes)
        if demand:
            values["demand"] = [
                each._asdict()
                | {"reserved": dict(zip(values["reserved"], each.reserved, strict=True))}
                for each in demand.choices
            ]
        print(_encoded(values).decode(), end="")
    else:
        text = forecast_lines(crawl, found, file.nodes) if crawl else []
        text += lines(found)
        if demand:
            text += uncertain_lines(demand, found)
        print("\n".join(text))


def _manifests(found: Plan, setting: emit.Setting) -> list[dict[str, Any]]:
    try:
        return emit.kubernetes(found, setting)
    except ValueError as error:
        raise SettingsError(f"--emit kubernetes: {error}") from None


def _encoded(values: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(values), indent=2) + b"\n"


def _unit(read_: Any) -> Any:
    def checked(text: str) -> Any:
        try:
            return read_(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return checked


def _hours(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of hours above 0")
    return value


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= 10**15):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of pages: write a whole one")
    return int(text)
