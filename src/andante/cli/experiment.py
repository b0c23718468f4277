"""``andante experiment``: the sources' experiments and the comparisons, as tables and figures."""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

from andante.extras import how_to_install
from andante.sim.experiments import allocation, backoff, cluster, limit, pid, policies, protocol
from andante.sim.experiments.result import Figure, Result, Table

EXPERIMENTS = {
    "pid": "a set-point in pages a minute: source 1's controller, ours, and others",
    "limit": "how many connections to a server: source 2's rule, ours, and others",
    "backoff": "servers that refuse: ours, and others",
    "allocation": "what a crawl costs against the number of nodes reserved (source 4)",
    "protocol": "HTTP/1.0, persistent and pipelined connections, and how many (source 5; two or three minutes)",
    "policies": "which server next: source 5's policies, and an upper bound (a quarter of an hour)",
    "cluster": "three nodes and what their words to each other cost: source 3's experiments (ten minutes)",
}

_RUN = {
    "pid": pid.run,
    "limit": limit.run,
    "backoff": backoff.run,
    "allocation": allocation.run,
    "protocol": protocol.run,
    "policies": policies.run,
    "cluster": cluster.run,
}

_LINES = ("-", "--", "-.", ":")


def add_to(parser: argparse.ArgumentParser) -> None:
    """Give the parser of the command its description and arguments."""
    parser.description = "Run an experiment on simulated servers, print its tables, and write them as CSV, with figures. Takes up to a minute, unless it says otherwise."
    parser.epilog = (
        "Experiments: " + "; ".join(f"{name}, {what}" for name, what in EXPERIMENTS.items()) + "."
    )
    parser.add_argument("name", choices=EXPERIMENTS, metavar="NAME", help=", ".join(EXPERIMENTS))
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="directory for the files, made where there is none [default: experiment-NAME]",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
        metavar="N",
        help="the same seed, the same result [default: 1]",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    directory = arguments.out or Path(f"experiment-{arguments.name}")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"andante: cannot use {directory} for the files: {error.strerror}", file=sys.stderr)
        return 2
    print(f"Simulating ({arguments.name}, seed {arguments.seed}) ...", file=sys.stderr)
    result = _RUN[arguments.name](seed=arguments.seed)
    print("\n".join(_text(result)))
    try:
        written = [_write(table, directory) for table in result.tables]
        written += _draw(result.figures, directory)
    except OSError as error:
        print(f"andante: cannot write to {directory}: {error.strerror}", file=sys.stderr)
        return 1
    print(f"\nIn {directory}: {', '.join(path.name for path in written)}")
    return 0


def _text(result: Result) -> list[str]:
    lines = [result.title]
    for table in result.tables:
        lines += ["", f"{table.name}", *_aligned(table)]
    return lines + ([""] if result.notes else []) + [f"- {note}" for note in result.notes]


def _aligned(table: Table) -> list[str]:
    """Return the lines of a table: texts to the left, numbers to the right; a text like the one above it is left out."""
    cells = [list(table.columns), *([_format(value) for value in row] for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    is_text = [all(isinstance(row[at], str) for row in table.rows) for at in range(len(widths))]
    lines = []
    above = ""
    for row in cells:
        first, above = ("" if is_text[0] and row[0] == above else row[0]), row[0]
        line = [
            f"{value:<{width}}" if left else f"{value:>{width}}"
            for value, width, left in zip([first, *row[1:]], widths, is_text, strict=True)
        ]
        lines.append("  ".join(line).rstrip())
    return lines


def _format(value: str | float) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _write(table: Table, directory: Path) -> Path:
    path = directory / f"{table.name}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table.columns)
        writer.writerows(table.rows)
    return path


def _draw(figures: tuple[Figure, ...], directory: Path) -> list[Path]:
    """Write each figure as SVG; without matplotlib, say how to get it."""
    try:
        from matplotlib import rc_context  # noqa: PLC0415  # an extra, and slow to import
        from matplotlib.figure import Figure as Canvas  # noqa: PLC0415
    except ImportError:
        print(f"andante: figures need matplotlib; {how_to_install('figures')}", file=sys.stderr)
        return []
    paths = []
    for figure in figures:
        canvas = Canvas(figsize=(9, 5), layout="constrained")
        axes = canvas.subplots()
        for number, series in enumerate(figure.series):
            axes.plot(series.x, series.y, _LINES[number % len(_LINES)], label=series.label)
        axes.set(title=figure.title, xlabel=figure.x_label, ylabel=figure.y_label)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend()
        paths.append(directory / f"{figure.name}.svg")
        with rc_context({"svg.hashsalt": "andante"}):  # so that the same figure is the same file
            canvas.savefig(paths[-1], metadata={"Date": None})
    return paths
