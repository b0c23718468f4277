"""How a crawl is stopped, also when its loop stands still; and that it goes on from there with nothing lost."""

import asyncio
import json
import os
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest
import uvloop

from support.command import COMMAND, Running, andante, pages
from support.web import Web, page

HANGS = """
import ctypes
from pathlib import Path

def worth(link):
    if link.url.endswith("/7"):
        Path("hangs").touch()
        {what}
    return 1.0
"""
"""A quality of the user's own that does not come back from a link to /7."""

HOLDS_THE_LOCK = "__import__('re').match('(a+)+$', 'a' * 64 + 'b')"
"""In C, with the interpreter's lock: no other thread runs a line of Python."""


def web_of_ten():
    """Return a start page, and a chain of pages behind it."""
    return {"/": page("/1")} | {f"/{n}": page(f"/{n + 1}") for n in range(1, 10)} | {"/10": page()}


async def hanging(cwd, server, what, *flags, prefix=()):
    """Start a crawl that hangs when /6 has come; return when it does."""
    (cwd / "user.py").write_text(HANGS.format(what=what))
    running = Running(*command(server), *flags, cwd=cwd, prefix=prefix)
    while not (cwd / "hangs").exists():
        assert running.process.poll() is None, await asyncio.to_thread(running.wait)
        await asyncio.sleep(0.01)
    return running


def command(server):
    return (
        *("crawl", server.url, "--job", "job", "--output", "pages.jsonl", "--rate", "max"),
        *("--policy", "quality", "--quality", "user:worth", "--commit-interval", "20ms"),
    )


async def goes_on(cwd, server):
    """Let the job go on without the fault; each page must be there once."""
    (cwd / "user.py").write_text("def worth(link):\n    return 1.0\n")
    done = await andante(*command(server), cwd=cwd)
    assert done.status == 0, done.err
    assert Counter(each["final_url"] for each in pages(cwd)) == {
        server.url + (str(n) if n else ""): 1 for n in range(11)
    }


def default(process, number):
    """Tell whether a signal would end a process by the kernel's default action."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    masks = [
        int(status.partition(f"{name}:\t")[2].partition("\n")[0], 16)
        for name in ("SigIgn", "SigCgt")
    ]
    return not any(mask >> (number - 1) & 1 for mask in masks)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_second_signal_ends_a_crawl_whose_loop_hangs(tmp_path, number):
    async def main():
        async with Web() as web:
            server = await web.server(web_of_ten())
            running = await hanging(tmp_path, server, HOLDS_THE_LOCK)
            assert not default(running.process, number)
            running.process.send_signal(number)
            while not default(running.process, number):
                assert running.process.poll() is None
                await asyncio.sleep(0.01)
            running.process.send_signal(number)
            done = await asyncio.to_thread(running.wait)
            assert done.status == -number
            await goes_on(tmp_path, server)

    uvloop.run(main())


def test_the_end_of_the_terminal_stops_cleanly(tmp_path):
    """Its signal comes, and from then on nothing can be written to it."""

    async def main():
        async with Web() as web:
            server = await web.server({"/": page("/1"), "/1": page(delay=1.0)})
            ours, theirs = os.openpty()
            flags = ("--job", "job", "--output", "pages.jsonl", "--rate", "max")
            process = subprocess.Popen(
                ["setsid", "--ctty", *COMMAND, "crawl", server.url, *flags],
                cwd=tmp_path,
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
            )
            os.close(theirs)
            while "/1" not in server.paths:
                await asyncio.sleep(0.01)
            os.close(ours)
            assert await asyncio.to_thread(process.wait) == 130
            assert len(pages(tmp_path)) == 2, "what was under way was waited for"

    uvloop.run(main())


def test_under_nohup_the_end_of_the_terminal_changes_nothing(tmp_path):
    async def main():
        async with Web() as web:
            server = await web.server({"/": page("/1"), "/1": page(delay=0.5)})
            flags = ("--job", "job", "--output", "pages.jsonl", "--rate", "max", "--quiet")
            running = Running("crawl", server.url, *flags, cwd=tmp_path, prefix=("nohup",))
            while "/1" not in server.paths:
                await asyncio.sleep(0.01)
            running.process.send_signal(signal.SIGHUP)
            done = await asyncio.to_thread(running.wait)
            assert done.status == 0
            assert len(pages(tmp_path)) == 2

    uvloop.run(main())


# While it stands still


LETS_OTHERS_RUN = "__import__('time').sleep({seconds})"
LETS_NOBODY_RUN = "ctypes.PyDLL(None).sleep({seconds})"


def stalled(cwd, what, *flags):
    """Return what a crawl has said whose loop stood still after /6 had come, and then went on."""

    async def main():
        async with Web() as web:
            server = await web.server(web_of_ten())
            running = await hanging(cwd, server, what, *flags)
            done = await asyncio.to_thread(running.wait)
            assert done.status == 0, done.err
            assert len(pages(cwd)) == 11
            return server.url, done.err

    return uvloop.run(main())


def test_a_loop_that_stands_still_is_told_meanwhile(tmp_path):
    url, err = stalled(tmp_path, LETS_OTHERS_RUN.format(seconds=4), "--quiet")
    first, *more = err.splitlines()
    assert first.startswith("andante: the event loop has stood still for 1.")
    assert first.endswith(f"; the last response was {url}6 (51 B)")
    assert len(more) < 3, "it is said again when the time has doubled"


def test_where_c_code_lets_no_thread_run_the_traceback_is_told_meanwhile(tmp_path):
    _, err = stalled(tmp_path, LETS_NOBODY_RUN.format(seconds=5), "--quiet")
    assert err.startswith("Timeout (0:00:03)!\n")
    assert 'user.py", line 8 in worth' in err


def test_the_log_has_events_while_it_stands_and_after(tmp_path):
    url, err = stalled(tmp_path, LETS_OTHERS_RUN.format(seconds=2), "--json-log")
    events = [json.loads(line) for line in err.splitlines()]
    assert {event["event"] for event in events} > {"loop.stalling", "loop.stalled"}
    for event in events:
        if event["event"].startswith("loop."):
            assert (event["url"], event["bytes"]) == (url + "6", 51)
            assert event["seconds"] > 1
