"""Certificates for servers of tests, by an authority that nobody else knows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import trustme
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)


@dataclass(frozen=True)
class Tls:
    """Certificates of a server; its clients may show the same."""

    ca_file: Path
    """Whom clients are to trust."""
    certificate: Path
    key: Path

    @classmethod
    def make(cls, folder: Path, *names: str) -> Tls:
        """Write certificates for names or addresses, by an authority of their own."""
        made = cls(folder / "ca.pem", folder / "certificate.pem", folder / "key.pem")
        authority = trustme.CA()
        authority.cert_pem.write_to_path(str(made.ca_file))
        leaf = authority.issue_cert(*names)
        leaf.cert_chain_pems[0].write_to_path(str(made.certificate))
        key = load_pem_private_key(leaf.private_key_pem.bytes(), None)
        # ZooKeeper reads keys in this format only.
        made.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return made
