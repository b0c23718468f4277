"""What is built installs into an empty environment, and works there. Takes a package index."""

import subprocess
import sys
from pathlib import Path

import pytest

WHEEL = Path(__file__).parent.parent / "tools" / "wheel.py"


@pytest.mark.slow
def test_the_wheel_works_without_the_checkout(tmp_path):
    done = subprocess.run(
        [sys.executable, WHEEL, tmp_path / "dist"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert [Path(line).suffix for line in done.stdout.splitlines()] == [".whl", ".gz"]
