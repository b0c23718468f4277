"""Complete: the pages with status 200 are those that an independent crawl of the files finds."""

import json
from collections import deque
from urllib.parse import unquote

import pytest

from support.reference import reference_links
from support.sites import NAMES, ROOTS


def reference(root, start):
    """Crawl a folder as nginx serves it, with Lexbor for links: return the URLs that have status 200."""
    found, queue, pages = {start}, deque([start]), set()
    origin = start.rstrip("/")
    while queue:
        url = queue.popleft()
        path = root / unquote(url[len(origin) :].partition("?")[0]).lstrip("/")
        if path.is_dir():
            if not url.endswith("/"):
                links = [url + "/"]  # nginx redirects
                new = [link for link in links if link not in found]
                found.update(new)
                queue.extend(new)
                continue
            path /= "index.html"
        if not path.is_file():
            continue
        pages.add(url)
        if path.suffix != ".html":
            continue
        for link in reference_links(path.read_bytes(), url, "utf-8"):
            if link.startswith(origin + "/") and link not in found:
                found.add(link)
                queue.append(link)
    return pages


@pytest.fixture(
    scope="module",
    params=[
        0,
        1,
        pytest.param(2, marks=pytest.mark.slow),
    ],  # it takes as long as five of the others
    ids=NAMES,
)
def site(request, sites):
    number = request.param
    return number, reference(ROOTS[number], sites.url(number))


def crawl(andante, url, *flags):
    andante(
        "crawl", url, "--job", "job", "--rate", "max", "--output", "pages.jsonl", "--quiet", *flags
    )


def pages(tmp_path):
    with (tmp_path / "pages.jsonl").open() as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.parametrize("connections", [1, 8])
def test_complete_over_http(site, sites, andante, tmp_path, connections):
    number, expected = site
    crawl(
        andante,
        sites.url(number),
        "--connections",
        str(connections),
        "--per-server",
        str(connections),
    )
    fetched = [page["final_url"] for page in pages(tmp_path) if page["status"] == 200]
    assert len(fetched) == len(set(fetched))
    assert set(fetched) == expected


def test_complete_over_tls(site, sites, andante, tmp_path, ca_file):
    number, expected = site
    crawl(
        andante,
        sites.url(number, tls=True),
        "--connections",
        "8",
        "--per-server",
        "8",
        "--ca-file",
        ca_file,
    )
    http, tls = sites.url(number), sites.url(number, tls=True)
    fetched = [
        page["final_url"].replace(tls, http, 1) for page in pages(tmp_path) if page["status"] == 200
    ]
    assert len(fetched) == len(set(fetched))
    assert set(fetched) == expected
