import collections
import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andante import url as urls
from andante.parse import href_value, parse_html
from andante.sim.graph import deal, graph
from andante.sim.population import Population
from andante.sim.server import Traits
from andante.sim.web import Web, WebTraits


def make(seed=1, **traits):
    traits = WebTraits(**{"servers": 20, "pages": 600, **traits})
    count = traits.servers + traits.tarpits
    return Web(traits, [Traits(service_time=0.0)] * count, seed=seed)


def reached(web):
    """Return the pages that are reached from the seeds."""
    found = dict.fromkeys(web.seeds)
    waiting = list(found)
    while waiting:
        new = [link for link in web.links(waiting.pop()) if link not in found]
        found |= dict.fromkeys(new)
        waiting += new
    return set(found)


def body(web, url):
    where = urls.parts(url)
    return web.serving()[where.host, where.port].serve(where.target, 0.0, last=False)


@given(
    seed=st.integers(0, 10**6),
    servers=st.integers(1, 30),
    more=st.integers(0, 200),
    seeds=st.integers(1, 3),
    locality=st.floats(0, 1),
    popularity=st.floats(0, 0.99),
    fame=st.floats(0, 3),
    links=st.floats(0, 20),
)
def test_every_page_is_reached_from_the_seeds(
    seed, servers, more, seeds, locality, popularity, fame, links
):
    web = make(
        seed,
        servers=servers,
        pages=servers + more,
        seeds=min(seeds, servers),
        locality=locality,
        popularity=popularity,
        fame=fame,
        links=links,
    )
    assert reached(web) == set(web.urls())
    assert len(list(web.urls())) == servers + more


def test_the_same_seed_the_same_web():
    def told(seed):
        web = make(seed)
        return [(url, web.links(url), web.quality(url)) for url in web.urls()]

    assert told(7) == told(7) != told(8)


def test_urls_and_hosts():
    web = make(servers=3, pages=3, links=0, seeds=2)
    assert list(web.urls()) == ["http://s0.test/", "http://s1.test/", "http://s2.test/"]
    assert web.seeds == ["http://s0.test/", "http://s1.test/"]
    assert sorted(web.serving()) == [("s0.test", 80), ("s1.test", 80), ("s2.test", 80)]
    assert len({server.address for server in web.serving().values()}) == 3


@pytest.mark.parametrize(
    ("url", "links"),
    [
        ("http://s0.test/p/9999.html", []),
        ("http://s0.test/p/01.html", []),
        ("http://s0.test/x", []),
    ],
)
def test_what_is_no_page_has_no_links_and_no_worth(url, links):
    web = make()
    assert web.links(url) == links
    assert web.quality(url) == 0.0
    assert body(web, url).head.startswith(b"HTTP/1.1 404 ")


def test_another_web_is_an_error():
    with pytest.raises(ValueError, match=r"https://example\.org/ is not of the simulated web"):
        make().links("https://example.org/")


def test_bodies_say_what_links_say():
    web = make(tarpits=1)
    for url in [*list(web.urls())[:200], "http://s20.test/", "http://s20.test/p/7.html"]:
        html = body(web, url).body
        document = parse_html(html, encoding="utf-8")
        found = urls.LinkResolver(href_value).resolve(url, document.hrefs, "utf-8")
        assert sorted(found) == sorted(web.links(url))


def test_sizes_are_lognormal_around_their_mean():
    web = make(links=0, size=5_000.0, size_sigma=0.5)
    sizes = sorted(len(body(web, url).body) for url in web.urls())
    assert sum(sizes) / len(sizes) == pytest.approx(5_000, rel=0.1)
    assert sizes[len(sizes) // 2] == pytest.approx(5_000 * 0.882, rel=0.1)  # exp(-0.5 ** 2 / 2)


def test_servers_have_at_least_a_page_and_power_law_sizes():
    counts = deal(100_000, 100, exponent=1.0, random=random.Random(1))
    assert sum(counts) == 100_000
    ordered = sorted(counts, reverse=True)
    assert ordered[0] / ordered[9] == pytest.approx(10, rel=0.1)
    assert ordered[9] / ordered[99] == pytest.approx(10, rel=0.2)
    assert deal(5, 5, exponent=1.0, random=random.Random(1)) == [1] * 5


def drawn(locality=0.75, fame=0.0, popularity=0.9, mean=10.0, pages=20_000, servers=50):
    """Return a graph, the server of each page, and the in-degrees in falling order."""
    counts = deal(pages, servers, exponent=0.5, random=random.Random(3))
    first = [sum(counts[:number]) for number in range(servers + 1)]
    server = [number for number, count in enumerate(counts) for _ in range(count)]
    links = graph(
        first,
        seeds=1,
        mean=mean,
        locality=locality,
        fame=fame,
        popularity=popularity,
        random=random.Random(4),
    )
    degrees = collections.Counter(target for targets in links for target in targets)
    return links, server, sorted(degrees.values(), reverse=True)


def test_links_stay_on_their_server_with_the_probability_given():
    links, server, _ = drawn(popularity=0.0)
    edges = [(page, target) for page, targets in enumerate(links) for target in targets]
    stay = sum(server[page] == server[target] for page, target in edges)
    tree = len(links) - 1
    # Of the links that leave, one in fifty or so comes back by chance.
    assert (stay - tree) / (len(edges) - tree) == pytest.approx(0.75, abs=0.02)
    assert len(edges) / len(links) == pytest.approx(1 + 10, rel=0.1)


def test_no_page_links_to_itself_or_twice_to_another():
    links, _, _ = drawn(pages=2_000)
    for page, targets in enumerate(links):
        assert page not in targets
        assert len(set(targets)) == len(targets)


def test_popularity_makes_the_in_degrees_a_power_law():
    _, _, even = drawn(popularity=0.0)
    _, _, uneven = drawn(popularity=0.9)
    top = len(even) // 100
    assert sum(even[:top]) / sum(even) < 0.03
    assert sum(uneven[:top]) / sum(uneven) > 0.15


def test_fame_makes_the_pages_of_a_server_of_similar_rank():
    """Much of the variance of log PageRank lies between servers: with servers of one size, all of it comes from fame."""

    def between(fame):
        web = make(servers=50, pages=3_000, fame=fame, server_exponent=0.0)
        by_server = collections.defaultdict(list)
        for url in web.urls():
            by_server[urls.host(url)].append(math.log(web.quality(url)))
        everything = [worth for pages in by_server.values() for worth in pages]
        within = sum(len(pages) * statistics.pvariance(pages) for pages in by_server.values())
        return 1 - within / len(everything) / statistics.pvariance(everything)

    assert between(1.0) > 0.3
    assert between(0.0) < 0.1


def test_out_degrees_vary_widely():
    links, _, _ = drawn(popularity=0.0)
    degrees = sorted(map(len, links))
    assert degrees[len(degrees) // 2] < 8
    assert degrees[-1] > 100


@pytest.mark.parametrize("quality", ["pagerank", "zipf"])
def test_qualities_are_shares_of_one(quality):
    web = make(quality=quality)
    worth = [web.quality(url) for url in web.urls()]
    assert sum(worth) == pytest.approx(1.0)
    assert min(worth) > 0
    assert list(web.qualities) == worth


def test_zipf_has_exponent_one_and_no_order():
    web = make(quality="zipf")
    worth = list(web.qualities)
    ordered = sorted(worth, reverse=True)
    assert [ordered[0] / value for value in ordered[:5]] == pytest.approx([1, 2, 3, 4, 5])
    assert worth != ordered


def test_a_tarpit_never_ends_and_is_worth_nothing():
    web = make(tarpits=1, tarpit_links=3, tarpit_doors=4)
    doors = [url for url in web.urls() if "http://s20.test/" in web.links(url)]
    assert len(doors) == 4
    assert web.links("http://s20.test/") == [f"http://s20.test/p/{n}.html" for n in (1, 2, 3)]
    assert web.links("http://s20.test/p/2.html")[0] == "http://s20.test/p/7.html"
    assert web.quality("http://s20.test/p/2.html") == 0.0
    level = ["http://s20.test/"]
    for depth in range(1, 6):
        level = [link for url in level for link in web.links(url)]
        assert len(set(level)) == 3**depth


def test_the_population_is_as_in_the_source():
    servers = Population().draw(4_000, seed=1)
    allowed = collections.Counter(server.requests for server in servers)
    assert allowed[1] / 4_000 == pytest.approx(0.24, abs=0.02)
    assert allowed[100] / 4_000 == pytest.approx(0.66, abs=0.02)
    assert min(allowed) == 1
    assert max(allowed) == 100
    assert len(allowed) > 90
    times = sorted(server.service_time for server in servers)
    assert sum(times) / 4_000 == pytest.approx(0.15, rel=0.1)
    assert times[3_600] / times[400] > 10
    assert servers == Population().draw(4_000, seed=1)


def test_the_seeds_are_alive():
    servers = Population(dead=1.0, crawl_delay=2.0, meter_requests=9).draw(5, seed=1, alive=2)
    assert [server.refuses for server in servers] == [False, False, True, True, True]
    assert servers[0].robots == "User-agent: *\nCrawl-delay: 2\n"
    assert servers[0].meter.requests == 9


def test_navigation_is_the_same_on_all_pages_of_a_server():
    web, without = make(navigation=3), make()
    pages = set(web.urls())
    for url in pages:
        origin = urls.origin(url)
        common = [origin + target for target in ("/", "/p/1.html", "/p/2.html")]
        common = [each for each in common if each in pages]
        links = web.links(url)
        assert links[: len(common)] == common
        assert set(links) == set(without.links(url)) | set(common)
        assert len(set(links)) == len(links)
    url = web.seeds[0]
    document = parse_html(body(web, url).body, encoding="utf-8")
    found = urls.LinkResolver(href_value).resolve(url, document.hrefs, "utf-8")
    assert set(found) == set(web.links(url))
