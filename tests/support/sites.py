"""Three real sites from Debian packages: postgresql-doc-15, python3.11-doc, openjdk-17-doc, or the release's own versions."""

from pathlib import Path

_PLACES = {
    "postgresql": ("postgresql-doc-15/html", "postgresql-doc-*/html"),
    "python": ("python3.11/html", "python3.*/html"),
    "openjdk": ("openjdk-17-jre-headless/api", "openjdk-*-jre-headless/api"),
}


def _root(usual: str, pattern: str) -> Path:
    """Return the usual folder, or where that is missing another version's."""
    documentation = Path("/usr/share/doc")
    others = [path.parent for path in sorted(documentation.glob(f"{pattern}/index.html"))]
    return next(
        (path for path in [documentation / usual, *others] if path.is_dir()), documentation / usual
    )


NAMES = list(_PLACES)
ROOTS = [_root(*places) for places in _PLACES.values()]
