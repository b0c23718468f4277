"""A real nginx on loopback, for the length of a test or a benchmark."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

_CONFIGURATION = """
daemon off;
worker_processes 1;
{user}
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    types {{ text/html html htm; text/css css; application/javascript js; text/plain txt; image/png png; image/svg+xml svg; application/xml xml; }}
    default_type application/octet-stream;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000;
    log_format seen '$msec\\t$connection\\t$connection_requests\\t$status\\t$server_port\\t$body_bytes_sent\\t$sent_http_content_type\\t$request_uri';
    access_log {folder}/access.log seen buffer=64k flush=1s;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {servers}
}}
"""

_SERVER = """
    server {{
        listen 127.0.0.1:{port}{ssl};
        root {root};
        index index.html;
    }}
"""


class Request(NamedTuple):
    """A line of the access log."""

    time: float
    connection: int
    connection_requests: int
    status: int
    port: int
    size: int
    content_type: str
    uri: str


class Nginx:
    """A running nginx; `ports` and `tls_ports` are in the order of its roots."""

    def __init__(
        self, folder: Path, ports: list[int], tls_ports: list[int], process: subprocess.Popen[bytes]
    ) -> None:
        self.ports = ports
        self.tls_ports = tls_ports
        self._folder = folder
        self._process = process

    def url(self, site: int = 0, *, tls: bool = False) -> str:
        """Return the start page of a root."""
        return (
            f"https://localhost:{self.tls_ports[site]}/"
            if tls
            else f"http://127.0.0.1:{self.ports[site]}/"
        )

    def requests(self) -> list[Request]:
        """Return what has been asked since the last `forget`; the log is written with a second's delay at most."""
        time.sleep(1.2)
        lines = (self._folder / "access.log").read_text().splitlines()
        return [_request(line) for line in lines]

    def forget(self) -> None:
        """Empty the access log."""
        time.sleep(1.2)
        os.truncate(self._folder / "access.log", 0)


def _request(line: str) -> Request:
    at, connection, count, status, port, size, kind, uri = line.split("\t")
    return Request(
        float(at), int(connection), int(count), int(status), int(port), int(size), kind, uri
    )


@contextlib.contextmanager
def nginx(
    folder: Path,
    roots: Sequence[Path],
    *,
    certificate: tuple[Path, Path] | None = None,
    command: Sequence[str] = (),
) -> Iterator[Nginx]:
    """Serve folders on ports of 127.0.0.1, and with a certificate (its file and its key's) also over TLS.

    Args:
        folder: an empty one, for what nginx writes.
        command: put before nginx's own, such as ``taskset -c 0``.
    """
    ports = [_free_port() for _ in roots]
    tls_ports = [_free_port() for _ in roots] if certificate else []
    servers = [
        _SERVER.format(port=port, ssl="", root=root)
        for port, root in zip(ports, roots, strict=True)
    ]
    if certificate:
        servers.append("ssl_certificate {}; ssl_certificate_key {};".format(*certificate))
        servers += [
            _SERVER.format(port=port, ssl=" ssl", root=root)
            for port, root in zip(tls_ports, roots, strict=True)
        ]
    user = "user root;" if os.geteuid() == 0 else ""
    configuration = folder / "nginx.conf"
    configuration.write_text(
        _CONFIGURATION.format(folder=folder, user=user, servers="".join(servers))
    )
    executable = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    assert executable, "nginx is missing: run make test, or install nginx-light"
    process = subprocess.Popen(
        [*command, executable, "-c", configuration, "-e", folder / "error.log"],
        stderr=subprocess.DEVNULL,
    )
    try:
        for port in ports + tls_ports:
            _wait_for(port, process)
        yield Nginx(folder, ports, tls_ports, process)
    finally:
        process.terminate()
        process.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(1000):
        with (
            contextlib.suppress(ConnectionRefusedError),
            socket.create_connection(("127.0.0.1", port)),
        ):
            return
        assert process.poll() is None, "nginx has stopped"
        time.sleep(0.005)
    raise AssertionError("nginx does not answer")
