import tomllib
from pathlib import Path

from andante.extras import PACKAGES, how_to_install

ROOT = Path(__file__).parent.parent


def test_they_are_those_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {k: tuple(v) for k, v in project["optional-dependencies"].items()} == PACKAGES


def test_a_message_names_all_packages():
    assert how_to_install("plan") == "install it with: pip install 'scipy>=1.14'"
    assert how_to_install("cluster").endswith(": pip install 'kazoo>=2.11' 'redis>=7.1'")
