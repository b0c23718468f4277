"""A site of many hosts for crawlers to be compared on: 250 of 200 pages each, and more where that is asked for, from a few files.

A page has 5 to 10 kB and 30 links, most of which others have too: 8 of its host's navigation, up to 6 to its children in the host's
tree, 3 to other hosts, and for the rest pages of its host, of which few are popular. Links within a host have no host in them, so
that hosts can share files: there are `VARIANTS` sets of them. From any host, all are reached. Hosts have addresses of their
own, and answer as fast as they can, or no faster than so many requests a second.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from bed.log import AccessLog, read
from services.process import Place, Service, folder

VARIANTS = 20
LINKS, NAVIGATION, CHILDREN, OUTSIDE = 30, 8, 6, 3
_SIZES = (3_800, 8_200)  # of the text of a page, bytes; its links are some 1,400 more
_ZIPF = 0.9
_WORDS = [
    "andante",
    "adagio",
    "allegro",
    "largo",
    "presto",
    "vivace",
    "moderato",
    "grave",
    "lento",
    "tempo",
]

_CONFIGURATION = """
daemon off;
master_process off;
{user}
pid {folder}/pid;
worker_rlimit_nofile 16384;
events {{ worker_connections 8192; }}
http {{
    types {{ text/html html; text/plain txt; }}
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000;
    server_names_hash_bucket_size 128;
    map_hash_max_size 65536;
    map $host $variant {{ {variants} }}
    {limits}
    log_format seen '$msec\\t$request_time\\t$host\\t$server_addr\\t$remote_addr\\t$connection\\t$status\\t$body_bytes_sent\\t$request_uri';
    access_log {folder}/access.log seen buffer=64k flush=200ms;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 80;
        root {folder}/pages/$variant;
        index index.html;
        location = /robots.txt {{ root {folder}/pages; access_log off; }}
        {uses}
    }}
}}
"""


@dataclass(frozen=True)
class Site:
    """What there is."""

    hosts: int = 250
    pages: int = 200
    """Of each host."""
    speeds: Sequence[float] = (0.0,)
    """Requests per second that a host answers: of the first, the second, and so on, and over again; 0: all that come."""
    sharing: int = 1
    """Hosts at one address."""

    def __post_init__(self) -> None:
        assert self.pages >= VARIANTS, "each variant must be linked to by the first host"
        assert self.hosts <= VARIANTS * self.pages, "each host must be linked to by some page"

    @property
    def names(self) -> dict[str, str]:
        """The hosts and their addresses."""
        places = [n // self.sharing for n in range(self.hosts)]
        return {_host(n): f"10.78.{at // 250}.{at % 250 + 1}" for n, at in enumerate(places)}

    def seeds(self, count: int = 1) -> list[str]:
        """Return the home pages of the first hosts."""
        return [f"http://{_host(n)}/" for n in range(count)]

    def urls(self) -> Iterator[str]:
        """Return all pages."""
        for host in range(self.hosts):
            for page in range(self.pages):
                yield f"http://{_host(host)}{_path(page)}"

    def write(self, folder: Path) -> None:
        """Write the files of all variants."""
        popular_pages = list(accumulate((n + 1) ** -_ZIPF for n in range(self.pages)))
        popular_hosts = list(accumulate((n + 1) ** -_ZIPF for n in range(self.hosts)))
        for variant in range(VARIANTS):
            chance = random.Random(variant)
            text = " ".join(chance.choices(_WORDS, k=4_000))
            (folder / str(variant)).mkdir(parents=True)
            for page in range(self.pages):
                links = self._links(variant, page, chance, popular_pages, popular_hosts)
                start, length = chance.randrange(10_000), chance.randint(*_SIZES)
                path = folder / str(variant) / (_path(page).lstrip("/") or "index.html")
                path.write_text(_page(f"{variant}, {page}", links, text[start : start + length]))
        (folder / "robots.txt").write_text("User-agent: *\nDisallow:\n")

    def _links(
        self,
        variant: int,
        page: int,
        chance: random.Random,
        popular_pages: list[float],
        popular_hosts: list[float],
    ) -> list[str]:
        links = list(range(min(NAVIGATION, self.pages)))
        links += range(CHILDREN * page + 1, min(CHILDREN * (page + 1) + 1, self.pages))
        rest = LINKS - OUTSIDE - len(links)
        drawn = chance.choices(range(self.pages), cum_weights=popular_pages, k=20 * rest)
        new = [n for n in dict.fromkeys(drawn) if n not in links]
        links += (new + drawn)[:rest]
        # One host in turn, so that none is left out, and others by how popular they are.
        hosts = chance.choices(range(self.hosts), cum_weights=popular_hosts, k=OUTSIDE - 1)
        deep = chance.choices(range(self.pages), cum_weights=popular_pages, k=OUTSIDE - 1)
        turn = (variant * self.pages + page) % self.hosts
        outside = [(turn, 0), *zip(hosts, deep, strict=True)]
        return [_path(n) for n in links] + [f"http://{_host(h)}{_path(n)}" for h, n in outside]

    def configuration(self, folder: Path) -> str:
        """Return what nginx is told."""
        limits = sorted({speed for speed in self.speeds if speed})
        names = list(enumerate(self.names))
        maps, uses = [], []
        for number, limit in enumerate(limits):
            slow = [name for n, name in names if self.speeds[n % len(self.speeds)] == limit]
            maps.append(f"map $host $slow{number} {{ {' '.join(f'{n} {n};' for n in slow)} }}")
            rate = f"{limit:.0f}r/s" if limit >= 1 else f"{60 * limit:.0f}r/m"
            maps.append(f"limit_req_zone $slow{number} zone=slow{number}:4m rate={rate};")
            uses.append(f"limit_req zone=slow{number} burst=10000;")
        return _CONFIGURATION.format(
            folder=folder,
            user="user root;" if os.geteuid() == 0 else "",
            variants=" ".join(f"{name} {n % VARIANTS};" for n, name in names),
            limits="\n    ".join(maps),
            uses="\n        ".join(uses),
        )


class SiteServer(Service):
    """nginx with a site."""

    def __init__(self, folder: Path, place: Place, site: Site) -> None:
        self.site = site
        executable = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
        assert executable, "nginx is missing: run make test, or install nginx-light"
        self.access_log = folder / "access.log"
        super().__init__(
            folder, [executable, "-c", folder / "nginx.conf", "-e", folder / "printed"], place
        )

    def is_ready(self) -> bool:
        return any(
            row.split()[1].endswith(":0050") and row.split()[3] == "0A"  # port 80, listening
            for row in Path(f"/proc/{self.pid}/net/tcp").read_text().splitlines()[1:]
        )

    def log(self) -> AccessLog:
        """Return what has been asked since the last `forget`, but for the last 0.2 s, which are not written yet."""
        return read(self.access_log.read_text().splitlines(keepends=True))

    def finished_log(self) -> AccessLog:
        """Return what has been asked since the last `forget`, when nobody asks any more."""
        size = -1
        while size != (size := self.access_log.stat().st_size):
            time.sleep(0.4)
        return self.log()

    def forget(self) -> None:
        """Empty the access log, when nobody asks any more."""
        self.finished_log()
        os.truncate(self.access_log, 0)


@contextmanager
def serve(site: Site, place: Place) -> Iterator[SiteServer]:
    """Serve a site at port 80 of all addresses of a place that has no other server there.

    Its ``/robots.txt`` allows all, and is not logged.
    """
    with folder() as own:
        site.write(own / "pages")
        (own / "nginx.conf").write_text(site.configuration(own))
        server = SiteServer(own, place, site)
        try:
            yield server.start()
        finally:
            server.kill()


def _host(number: int) -> str:
    return f"h{number:04}.site.test"


def _path(page: int) -> str:
    return f"/{page}.html" if page else "/"


def _page(title: str, links: Sequence[str], text: str) -> str:
    step = len(text) // len(links)
    body = "".join(
        f'<p><a href="{link}">{link}</a> {text[n * step : (n + 1) * step]}</p>\n'
        for n, link in enumerate(links)
    )
    return f"<!DOCTYPE html>\n<html><head><title>{title}</title></head>\n<body>\n{body}</body></html>\n"
