"""Several processes on one machine: what others on it can see and reach of them, and what is left when they end, however they end."""

import asyncio
import os
import re
import signal
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

import pytest
import uvloop

from services.redis import redis_server
from support.command import Running, pages
from support.web import Web, page

LEAVES = [f"/{n}" for n in range(200)]
QUICK = ("--allow-private", "--heartbeat", "200ms", "--lease", "2s", "--output", "pages.jsonl")


def processes(cwd):
    """Return the processes at work in a directory, by their numbers, with the commands."""
    found = {}
    for each in Path("/proc").iterdir():
        with suppress(OSError):
            command = (each / "cmdline").read_bytes()  # empty where it has ended
            if command and (each / "cwd").readlink().is_relative_to(cwd):
                found[int(each.name)] = command.replace(b"\0", b" ").decode()
    return found


def workers(cwd):
    return [pid for pid, command in processes(cwd).items() if " /dev/stdin " in command]


def the_redis(cwd):
    return next(pid for pid, command in processes(cwd).items() if "redis-server" in command)


def ports(pids):
    """Return the local addresses at which processes listen by TCP."""
    sockets = set()
    for pid in pids:
        for each in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                sockets.add(str(each.readlink()))
    rows = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
    fields = [row.split() for row in rows.splitlines()]
    return [row[1] for row in fields if row[3] == "0A" and f"socket:[{row[9]}]" in sockets]


async def until(is_so, running):
    while not is_so():
        assert running.process.poll() is None, running.err
        await asyncio.sleep(0.02)


def crawling(work, cwd, *flags, config="", rate="20/s"):
    """Let something happen while two processes crawl a server, when they have fetched some pages."""

    async def main():
        async with Web() as web:
            server = await web.server({"/": page(*LEAVES), **{leaf: page() for leaf in LEAVES}})
            if config:
                (cwd / "crawl.toml").write_text(config)
                (cwd / "crawl.toml").chmod(0o600)
            own = ("--config", "crawl.toml") if config else ()
            command = ("crawl", server.url, "--workers", 2, "--job", "job", *QUICK, *own)
            running = Running(*command, "--rate", rate, *flags, cwd=cwd)
            await until(lambda: len(server.visits) > 5, running)
            await work(running, server)

    uvloop.run(main())


async def ended(running):
    return await asyncio.to_thread(running.wait)


async def all_gone(cwd):
    """Wait until no process is there: the kernel ends them when their parent has ended."""
    async with asyncio.timeout(10.0):
        while processes(cwd):
            await asyncio.sleep(0.02)


def test_no_secret_is_on_a_command_line_and_no_port_is_open(tmp_path):
    with redis_server(password="open sesame") as redis:

        async def look(running, server):
            at_work = processes(tmp_path)
            assert len(at_work) == 3
            for command in at_work.values():
                assert not re.search("sesame|hush|Bearer|ding", command)
            assert not ports(at_work)
            assert server.visits[-1].headers["authorization"] == "bearer hush"
            running.process.send_signal(signal.SIGTERM)
            done = await ended(running)
            assert done.status == 130
            assert "sesame" not in done.out + done.err

        config = (
            f'cluster = "{redis.url}"\nheader = ["Authorization: Bearer hush", "X: \\"ding\\""]\n'
        )
        crawling(look, tmp_path, config=config)


def test_nobody_else_can_reach_their_redis(tmp_path):
    async def look(running, server):
        assert not ports(processes(tmp_path))
        folder = tmp_path / "job" / "redis"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / "redis.sock").stat().st_mode) & 0o077 == 0
        url = re.search(r"--cluster (unix://\S+)\n", running.err)[1]
        assert Path(unquote(url.removeprefix("unix://"))) == folder / "redis.sock"
        if os.geteuid() == 0:
            connect = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
            (tmp_path / "job").chmod(0o755)
            for each in (tmp_path, *tmp_path.parents):
                if each not in (Path("/tmp"), Path("/")):
                    each.chmod(0o755)
            another = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
            tried = subprocess.run(
                [*another, sys.base_prefix + "/bin/python3", "-c", connect, folder / "redis.sock"],
                capture_output=True,
                check=False,
            )
            assert b"PermissionError" in tried.stderr, tried.stderr
        status = await ended(Running("status", "--cluster", url, cwd=tmp_path))
        assert status.status == 0, status.err
        assert "2 nodes" in status.out
        running.process.send_signal(signal.SIGINT)
        assert (await ended(running)).status == 130
        assert not (folder / "redis.sock").exists()

    crawling(look, tmp_path)


def test_a_job_whose_path_is_too_long_for_a_socket(tmp_path):
    deep = tmp_path / ("a long name " * 10) / ("of a directory" * 10)
    deep.mkdir(parents=True)

    async def look(running, server):
        url = re.search(r"--cluster (unix://\S+)\n", running.err)[1]
        status = await ended(Running("status", "--cluster", url, cwd=tmp_path))
        assert "2 nodes" in status.out, status.err
        running.process.send_signal(signal.SIGINT)
        assert (await ended(running)).status == 130

    crawling(look, deep)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_all_end_in_order_with_a_signal(tmp_path, number):
    async def end(running, server):
        running.process.send_signal(number)
        done = await ended(running)
        assert done.status == 130, done.err
        assert not processes(tmp_path)
        assert not (tmp_path / "job" / "redis" / "redis.sock").exists()

    crawling(end, tmp_path)


def test_processes_that_hang_are_killed_with_the_third_signal(tmp_path):
    async def end(running, server):
        for pid in workers(tmp_path):
            os.kill(pid, signal.SIGSTOP)
        for _ in range(3):
            running.process.send_signal(signal.SIGTERM)
            await asyncio.sleep(0.3)
        assert (await ended(running)).status == 130
        assert not processes(tmp_path)

    crawling(end, tmp_path)


def test_nothing_is_left_when_they_are_killed(tmp_path):
    async def end(running, server):
        running.process.kill()
        assert (await ended(running)).status == -9
        await all_gone(tmp_path)
        assert not (tmp_path / "job" / "redis" / "redis.sock").exists()

    crawling(end, tmp_path)


def test_a_process_that_is_killed_is_named_and_the_others_go_on(tmp_path):
    async def end(running, server):
        os.kill(workers(tmp_path)[0], signal.SIGKILL)
        done = await ended(running)
        assert done.status == 1
        assert re.search(r"andante: w[12] was killed \(SIGKILL\): the others", done.err)
        assert not processes(tmp_path)
        assert set(server.paths) == {"/", *LEAVES}

    crawling(end, tmp_path, rate="100/s")


def test_a_redis_that_is_killed_is_started_again_with_its_data(tmp_path):
    async def end(running, server):
        # One that ends within two seconds of its start is not started again.
        await until(lambda: len(server.visits) > 100, running)
        os.kill(the_redis(tmp_path), signal.SIGKILL)
        done = await ended(running)
        assert done.status == 0, done.err
        assert "andante: Redis had ended, and was started again\n" in done.err
        assert not processes(tmp_path)
        got = [
            each["final_url"]
            for path in tmp_path.glob("pages-*.jsonl")
            for each in pages(tmp_path, path.name)
        ]
        assert len(set(got)) == len(LEAVES) + 1

    crawling(end, tmp_path, rate="40/s")


def test_a_redis_that_does_not_start_leaves_nothing(tmp_path):
    folder = tmp_path / "job" / "redis" / "appendonlydir"
    folder.mkdir(parents=True)
    (folder / "appendonly.aof.manifest").write_text("garbage\n")
    command = ("crawl", "http://127.0.0.1:9/", "--workers", 2, "--job", "job")
    done = Running(*command, cwd=tmp_path).wait()
    assert done.status == 2
    assert "andante: workers: redis-server does not start; see " in done.err
    assert not processes(tmp_path)
