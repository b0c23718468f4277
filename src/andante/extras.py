"""What only some crawls need is installed on its own; where it is missing, this says how."""

from __future__ import annotations

PACKAGES = {
    "cluster": ("kazoo>=2.11", "redis>=7.1"),
    "figures": ("matplotlib>=3.9",),
    "parquet": ("pyarrow>=18",),
    "plan": ("scipy>=1.14",),
    "rank": ("scipy>=1.14",),
}
"""The extras of pyproject.toml."""


def how_to_install(extra: str) -> str:
    """Return the end of a message that something is missing.

    It names packages, not ``andante[extra]``: that holds wherever Andante itself was installed from.
    """
    packages = " ".join(f"'{package}'" for package in PACKAGES[extra])
    return f"install it with: pip install {packages}"
