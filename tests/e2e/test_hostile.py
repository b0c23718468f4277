"""Bad input: whatever servers do, each URL ends in its state and reason, and the crawl goes on with the rest."""

import contextlib
import re

import pytest
import uvloop

from support import hostile
from support.command import adds_up, andante, ended, pages, status
from support.web import Reply, Web, page

TIMES = (
    *("--first-byte-timeout", "600ms", "--idle-timeout", "600ms", "--total-timeout", "2s"),
    *("--connect-timeout", "2s", "--retries", "1", "--retry-wait", "50ms"),
)
SERVERS = ("--scope", "any", "--allow-private", "--rate", "max", "--no-per-ip")
"""The test servers share one address; each is a server of its own all the same."""

MIB = 2**20


def crawl(cwd, *arguments):
    return andante(
        *("crawl", "--job", "job", "--output", "pages.jsonl", *TIMES, *SERVERS, *arguments), cwd=cwd
    )


FAILED = {
    "closed-at-once": "closed",
    "reset-at-once": "reset",
    "reset-in-header": "reset",
    "reset-in-body": "reset",
    "closed-in-header": "closed",
    "closed-in-chunks": "closed",
    "length-too-large": "closed",
    "silent": "first-byte-timeout",
    "silent-in-body": "idle-timeout",
    "dripping-header": "total-timeout",
    "endless-headers": "header-too-large",
    "endless-header-line": "header-too-large",
    "endless-interim": "header-too-large",
    "endless-newlines": "header-too-large",
    "endless-chunk-extension": "bad-response",
    "endless-trailers": "bad-response",
    "garbage": "bad-response",
    "http-0-9": "bad-response",
    "ssh": "bad-response",
    "upgrade": "bad-response",
    "broken-chunks": "bad-response",
    "broken-chunk-size": "bad-response",
    "chunk-size-overflow": "bad-response",
    "negative-length": "bad-response",
    "two-lengths": "bad-response",
    "status-of-one-digit": "bad-response",
    "wrong-encoding": "bad-encoding",
    "gzip-bomb": "decoded-too-large",
    "gzip-bomb-10-gb": "decoded-too-large",
}
FETCHED = {
    "fine": "",
    "until-eof": "",
    "length-too-small": "",
    "unsolicited": "",
    "header-without-colon": "",
    "endless-body": "length",
    "endless-chunks": "length",
    "dripping-body": "time",
}
"""Behaviours that end in a page, and why it was cut."""


def test_every_behaviour_is_tested():
    assert {*FAILED, *FETCHED} == set(hostile.BEHAVIOURS)


def test_servers_that_misbehave(tmp_path):
    async def main():
        async with contextlib.AsyncExitStack() as stack:
            web = await stack.enter_async_context(Web())
            urls = {
                name: f"http://127.0.0.1:{await stack.enter_async_context(hostile.serving(name))}/"
                for name in hostile.BEHAVIOURS
            }
            urls["refused"] = f"http://127.0.0.1:{stack.enter_context(hostile.closed_port())}/"
            good = [f"/{n}" for n in range(20)]
            start = await web.server(
                {"/": page(*urls.values(), *good)} | {path: page() for path in good}
            )
            done = await crawl(tmp_path, start.url, "--max-body", "1MiB")
            return done, urls, start

    done, urls, start = uvloop.run(main())
    assert done.status == 0, done.err
    assert adds_up(done.out)
    lost = {url: (e.state, e.reason) for url, e in ended(tmp_path).items()}
    expected = {urls[name]: ("failed", reason) for name, reason in FAILED.items()}
    assert lost == expected | {urls["refused"]: ("failed", "refused")}
    kept = {page["final_url"]: page["truncated"] for page in pages(tmp_path)}
    good = {start.url + str(n): "" for n in range(20)} | {start.url: ""}
    assert kept == good | {urls[name]: cut for name, cut in FETCHED.items()}


def test_invalid_tls(tmp_path):
    certificates = hostile.Certificates()
    details = {
        "good": "",
        "expired": "certificate has expired",
        "wrong_host": "Hostname mismatch, certificate is not valid for 'localhost'",
        "unknown_issuer": "unable to get local issuer certificate",
        "self_signed": "self-signed certificate|EE certificate key too weak",
    }

    async def main():
        async with contextlib.AsyncExitStack() as stack:
            web = await stack.enter_async_context(Web())
            urls = {}
            for name in details:
                serving = hostile.serving("fine", tls=getattr(certificates, name))
                urls[name] = f"https://localhost:{await stack.enter_async_context(serving)}/"
            start = await web.server({"/": page(*urls.values(), "/1"), "/1": page()})
            ca_file = certificates.ca_file(tmp_path)
            return await crawl(tmp_path, start.url, "--ca-file", ca_file), urls, start

    done, urls, start = uvloop.run(main())
    assert done.status == 0, done.err
    assert {page["final_url"] for page in pages(tmp_path)} == {
        start.url,
        start.url + "1",
        urls.pop("good"),
    }
    lost = ended(tmp_path)
    assert set(lost) == set(urls.values())
    for name, url in urls.items():
        assert lost[url][:2] == ("failed", "tls"), name
        assert re.search(details.get(name, ""), lost[url].detail), (name, lost[url])


def to(target):
    return Reply(302, {"Location": target})


def test_redirects_that_lead_nowhere(tmp_path):
    chain = {
        f"/{length}/{n}": to(f"/{length}/{n + 1}") for length in (10, 11) for n in range(length)
    }
    wrong = {
        "file": "file:///etc/passwd",
        "data": "data:text/html,hello",
        "javascript": "javascript:alert(1)",
        "unparsable": "http://[::1",
        "credentials": "http://user:secret@127.0.0.2/",
        "bytes": "http://\xff\xfe/",
        "long": "/" + "x" * 3000,
    }
    answers = {
        "/self": to("/self"),
        "/two/a": to("/two/b"),
        "/two/b": to("/two/a"),
        "/three/a": to("b"),
        "/three/b": to("c"),
        "/three/c": to("a"),
        "/linked/a": to("b"),
        "/linked/b": to("c"),
        "/linked/c": to("b"),
        "/10/10": page(),
        "/11/11": page(),
        "/without": Reply(302),
        "/good": to("/end"),
        "/end": page(),
    }
    answers |= chain | {f"/{name}": to(target) for name, target in wrong.items()}
    first = ["/self", "/two/a", "/three/a", "/10/0", "/11/0", "/without", "/good"]
    first += ["/linked/a", "/linked/b", "/linked/c"]

    async def main():
        async with Web() as web:
            start = await web.server(answers | {"/": page(*first, *(f"/{name}" for name in wrong))})
            return await crawl(tmp_path, start.url), start.url.rstrip("/")

    done, origin = uvloop.run(main())
    assert done.status == 0, done.err
    assert adds_up(done.out)
    lost = {
        url.removeprefix(origin): (e.state, e.reason)
        for url, e in ended(tmp_path).items()
        if e.state != "redirected"
    }
    assert lost == {
        "/self": ("failed", "redirect-loop"),
        "/two/b": ("failed", "redirect-loop"),
        "/three/c": ("failed", "redirect-loop"),
        "/linked/c": ("failed", "redirect-loop"),
        "/11/10": ("failed", "too-many-redirects"),
    } | {f"/{name}": ("failed", "bad-redirect") for name in wrong}
    found = {
        page["final_url"].removeprefix(origin): (page["url"].removeprefix(origin), page["status"])
        for page in pages(tmp_path)
    }
    assert found == {
        "/": ("/", 200),
        "/10/10": ("/10/0", 200),
        "/without": ("/without", 302),
        "/end": ("/good", 200),
    }


def test_a_loop_of_redirects_is_told_over_a_restart(tmp_path):
    async def main():
        async with Web() as web:
            server = await web.server({"/": page("/a", "/b"), "/a": to("/b")})
            server.answers["/b"] = Reply(cut=True)
            await crawl(tmp_path, server.url, "--retry-wait", "1h", "--max-time", "500ms")
            assert {url[-2:]: e.state for url, e in ended(tmp_path).items()} == {"/a": "redirected"}
            server.answers["/b"] = to("/a")
            await crawl(tmp_path, server.url)
            reasons = {url[-2:]: e.reason for url, e in ended(tmp_path).items()}
            assert reasons == {"/a": "302", "/b": "redirect-loop"}

    uvloop.run(main())


def html(body, content_type="text/html"):
    return Reply(200, {"Content-Type": content_type} if content_type else {}, body)


def link(path):
    return f'<a href="{path}">'.encode()


PAGES = {
    "null bytes": html(b"\0<p>\0" * 1000 + link("/%s") + b"\0"),
    "nothing but null bytes": html(bytes(100_000)),
    "unparsable links": html(
        b"".join(
            link(href)
            for href in (
                *("http://[", "http://[::1", "http://a b/", "http://%zz/", "http://1.2.3.4.5.6/"),
                *("http:///", "https://:443", "http://user:pw@127.0.0.1/", "mailto:a@b.example"),
                *("javascript:void(0)", "file:///etc/passwd", "http://127.0.0.1:99999/", "\\\\"),
            )
        )
        + link("/%s")
    ),
    "href of a megabyte": html(link("/" + "x" * MIB) + link("http://" + "y" * MIB) + link("/%s")),
    "100,000 nested tags": html(b"<div>" * 100_000 + link("/%s")),
    "100,000 nested links": html(b"<a href=/><b><i>" * 30_000 + link("/%s")),
    "100,000 attributes": html(b"<p " + b" a=b" * 100_000 + b">" + link("/%s")),
    "a comment that does not end": html(link("/%s") + b"<!-- " + b"<a href=/no>-- " * 10_000),
    "wrong charset": html("<p>Grüße".encode("latin-1") + link("/%s"), "text/html; charset=utf-8"),
    "unknown charset": html(link("/%s"), "text/html; charset=klingon"),
    "UTF-16 that is none": html(link("/%s") + b"x", "text/html; charset=utf-16"),
    "UTF-7": html(link("/%s"), "text/html; charset=utf-7"),
    "a codec that is no charset": html(link("/%s"), "text/html; charset=zip_codec"),
    "no type": html(b"<!doctype html>" + link("/%s"), ""),
    "an image that says it is a page": html(bytes(range(256)) * 1000 + b">" + link("/%s")),
    "empty": html(b""),
    "base that is no URL": html(b'<base href="http://[">' + link("/%s")),
}
WITHOUT_LINK = {"nothing but null bytes", "empty", "UTF-16 that is none"}
"""UTF-16 is what the header says: as such it is read, as browsers do."""


def test_pages_that_are_wrong(tmp_path):
    answers = {}
    for number, reply in enumerate(PAGES.values()):
        reply.body = reply.body.replace(b"/%s", b"/leaf/%d" % number)
        answers[f"/{number}"] = reply
        answers[f"/leaf/{number}"] = page()

    async def main():
        async with Web() as web:
            start = await web.server(answers | {"/": page(*(f"/{n}" for n in range(len(PAGES))))})
            return await crawl(tmp_path, start.url), start

    done, start = uvloop.run(main())
    assert done.status == 0, done.err
    assert ended(tmp_path) == {}
    asked = set(start.paths)
    assert {f"/{n}" for n in range(len(PAGES))} <= asked
    without = {name for n, name in enumerate(PAGES) if f"/leaf/{n}" not in asked}
    assert without == WITHOUT_LINK
    assert asked <= {"/", *answers}


def test_a_page_of_more_links_than_are_taken(tmp_path):
    body = b"".join(link(f"/{n}") for n in range(70_000))
    assert len(body) > MIB

    async def main():
        async with Web() as web:
            start = await web.server({"/": html(body)})
            return await crawl(tmp_path, start.url, "--max-links", "50"), start

    done, start = uvloop.run(main())
    assert done.status == 0, done.err
    assert sorted(start.paths) == sorted(["/", *(f"/{n}" for n in range(50))])


@pytest.mark.parametrize(
    ("limit", "fetched"),
    [(("--max-depth", "7"), 8), (("--max-pages", "9"), 9), (("--max-url-length", "60"), None)],
)
def test_a_page_that_links_to_itself_with_ever_new_queries(tmp_path, limit, fetched):
    class Ever(dict):
        def get(self, path, default):
            return (
                page(path + ("&x" if "?" in path else "?x")) if path != "/robots.txt" else default
            )

    async def main():
        async with Web() as web:
            start = await web.server({})
            start.answers = Ever()
            return await crawl(tmp_path, start.url, *limit), start

    done, start = uvloop.run(main())
    assert done.status == 0, done.err
    longest = max(page["final_url"] for page in pages(tmp_path))
    if fetched is None:
        assert 58 < len(longest) <= 60
    else:
        assert len(start.paths) == len(pages(tmp_path)) == fetched


def test_robots_txt_of_100_mb_is_read_to_its_limit(tmp_path):
    rules = b"User-agent: *\nDisallow: /private\n"
    filler = b"# " + b"x" * 997 + b"\n"
    robots = Reply(200, {}, rules + filler * 100, times=1000)

    async def main():
        async with Web() as web:
            start = await web.server(
                {"/": page("/private", "/1"), "/1": page(), "/robots.txt": robots}
            )
            return await crawl(tmp_path, start.url), start

    done, start = uvloop.run(main())
    assert done.status == 0, done.err
    assert start.paths == ["/", "/1"]
    assert start.connections == 2, "the first was closed in the middle of robots.txt"
    assert done.peak < 120 * MIB
    assert ended(tmp_path) == {start.url + "private": ("excluded", "robots", "")}


@pytest.mark.parametrize("bomb", ["gzip-bomb", "gzip-bomb-10-gb"])
def test_memory_is_bounded_with_bombs(tmp_path, bomb):
    """Four at once, on four connections, with the limits as they are."""

    async def main():
        async with contextlib.AsyncExitStack() as stack:
            web = await stack.enter_async_context(Web())
            port = await stack.enter_async_context(hostile.serving(bomb))
            links = [f"http://127.0.0.1:{port}/{n}" for n in range(4)]
            start = await web.server({"/": page(*links, "/1"), "/1": page()})
            done = await crawl(tmp_path, start.url, "--per-server", "4", "--total-timeout", "20s")
            return done, links

    done, links = uvloop.run(main())
    assert done.status == 0, done.err
    assert {url: e[:2] for url, e in ended(tmp_path).items()} == dict.fromkeys(
        links, ("failed", "decoded-too-large")
    )
    assert status(tmp_path)["pages"] == 2
    assert done.peak < 300 * MIB
