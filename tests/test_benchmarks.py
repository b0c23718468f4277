"""The benchmarks that need nothing else are run small, so that they do not rot; no times are asserted."""

import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


def test_scale():
    """Memory is, with room for another allocator: 100,000 known URLs, and 10,000 queued on 100 servers."""
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "scale.py", "--quick"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    rows = [line.split("|") for line in done.stdout.splitlines()[2:]]
    assert [row[1].strip() for row in rows] == ["known", "queued"]
    assert [row[2].strip() for row in rows] == ["100,000", "10,000"]
    assert all(float(row[4]) < 80 for row in rows)
