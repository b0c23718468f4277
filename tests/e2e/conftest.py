"""A real nginx with real sites, and the command as a user runs it."""

import os
import subprocess
import sys

import pytest
import trustme

from support.nginx import nginx
from support.sites import ROOTS


@pytest.fixture(scope="session")
def authority():
    return trustme.CA()


@pytest.fixture(scope="session")
def ca_file(authority, tmp_path_factory):
    path = tmp_path_factory.mktemp("ca") / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return path


@pytest.fixture(scope="session")
def sites(authority, tmp_path_factory):
    """The three documentation sites; their packages are installed by ``make test``."""
    for root in ROOTS:
        assert (root / "index.html").exists(), (
            f"{root} is missing: run make test, or install postgresql-doc-15, python3.11-doc, openjdk-17-doc"
        )
    folder = tmp_path_factory.mktemp("nginx")
    leaf = authority.issue_cert("localhost")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    for number, blob in enumerate(leaf.cert_chain_pems):
        blob.write_to_path(str(certificate), append=number > 0)
    leaf.private_key_pem.write_to_path(str(key))
    with nginx(folder, ROOTS, certificate=(certificate, key)) as running:
        yield running


@pytest.fixture
def andante(tmp_path):
    """Run the command in an empty directory."""

    def run(*arguments, check=0, timeout=300):
        done = subprocess.run(
            [sys.executable, "-m", "andante", *map(str, arguments)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=timeout,
            env=os.environ | {"COLUMNS": "200"},
            check=False,
        )
        assert done.returncode == check, done.stderr
        return done

    return run
