"""The site that crawlers are compared on, as one crawler finds it."""

import re
import socket
import sys

import pytest

from bed.network import network
from bed.site import Site, serve

SITE = Site(hosts=60, pages=20, speeds=(0, 0, 50))


@pytest.fixture(scope="module")
def bed():
    with network(2, hosts=SITE.names, linked=False) as running:
        yield running


@pytest.fixture(scope="module")
def server(bed):
    with serve(SITE, bed.web) as running:
        yield running


def crawl(node, job, scope):
    command = [sys.executable, "-m", "andante", "crawl", *SITE.seeds(), "--job", str(job)]
    node.run(*command, "--quiet", "--rate", "max", "--allow-private", "--scope", scope)


def test_a_crawl_from_one_page_finds_all_and_waits_for_slow_hosts(bed, server, tmp_path):
    server.forget()
    crawl(bed.nodes[1], tmp_path, "any")
    log = server.finished_log()
    assert set(log.statuses()) == {200}
    assert log.urls() == set(SITE.urls())
    assert not log.repeated()
    assert log.most_at_once() == 1
    assert set(log.by_client()) == {bed.nodes[1].address}
    last = dict.fromkeys(SITE.names, 0.0)
    for visit in log.visits:
        last[visit.host] = visit.ended
    slow = list(SITE.names)[2::3]
    took = [last[host] - min(v.began for v in log.visits if v.host == host) for host in slow]
    assert min(took) > 0.9 * (SITE.pages - 1) / 50


def test_two_crawls_at_once_are_seen(bed, server, tmp_path):
    server.forget()
    for number, node in enumerate(bed.nodes):
        crawl(node, tmp_path / str(number), "host")
    log = server.finished_log()
    assert log.urls() == {url for url in SITE.urls() if "//h0000." in url}
    assert set(log.repeated()) == log.urls()
    assert not log.at_once()
    assert log.moves() == 1


def test_nothing_of_the_server_stays(bed):
    with serve(Site(hosts=1, pages=20), bed.nodes[0]):
        assert is_served(bed.nodes[0])
    assert not is_served(bed.nodes[0])


def is_served(node):
    with node.entered(), socket.socket() as probe:
        return probe.connect_ex((node.address, 80)) == 0


def test_the_pages_are_as_said(tmp_path):
    Site(pages=100).write(tmp_path)
    pages = [path.read_text() for path in sorted(tmp_path.glob("[0-7]/*.html"))]
    links = [re.findall(r'href="(.*?)"', page) for page in pages]
    assert all(4_900 < len(page) < 10_000 for page in pages)
    assert {len(found) for found in links} == {30}
    assert all(sum(link.startswith("http:") for link in found) == 3 for found in links)
    assert sum(len(set(found)) for found in links) / len(links) > 29


def test_it_is_the_same_each_time(tmp_path):
    for number in range(2):
        Site(hosts=30, pages=20).write(tmp_path / str(number))
    one, other = (
        {path.name: path.read_bytes() for path in (tmp_path / str(n) / "7").iterdir()}
        for n in range(2)
    )
    assert one == other


def test_a_site_that_could_not_be_found_whole():
    with pytest.raises(AssertionError, match="linked to"):
        Site(hosts=401, pages=20)
