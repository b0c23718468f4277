"""Three real sites from Debian packages: postgresql-doc-15, python3.11-doc, openjdk-17-doc."""

from pathlib import Path

_DOCUMENTATION = Path("/usr/share/doc")

NAMES = ["postgresql", "python", "openjdk"]

ROOTS = [
    _DOCUMENTATION / "postgresql-doc-15" / "html",
    _DOCUMENTATION / "python3.11" / "html",
    _DOCUMENTATION / "openjdk-17-jre-headless" / "api",
]
