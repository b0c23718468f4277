import asyncio
import json
from collections import Counter
from contextlib import closing

from andante.cli import main
from andante.flow import Pace
from andante.frontier import Frontier
from andante.observe import Stats
from andante.store import Job
from andante.store.journal import Batch, Ended, Journal


def test_servers_met_and_servers_with_urls_that_wait_are_counted(tmp_path, capsys):
    """One server is done with before the first commit, one after it, one waits; and the job goes on twice."""
    servers = [f"http://{name}.example/" for name in "abc"]

    def start(found, done):
        with closing(Job(tmp_path / "job", [], warc_size=10**9, about={})) as job:
            frontier = Frontier(job.load)
            job.restore(frontier, Pace(), now=0.0, wall=0.0)
            frontier.offer(found, depth=0)
            for _ in range(done):
                server = frontier.open_visit(0.0)
                frontier.finish(frontier.take(server, 0.0))
                frontier.close_visit(server)
                asyncio.run(job.commit(frontier, stats={}))
        capsys.readouterr()
        assert main(["status", "--json", str(tmp_path / "job")]) == 0
        told = json.loads(capsys.readouterr().out)
        return told["servers"], told["servers_waiting"], told["queued"]

    assert start(servers, 2) == (3, 1, 1)
    assert start([], 1) == (3, 0, 0)
    assert start([servers[0] + "new", "http://d.example/"], 1) == (4, 1, 1)
    assert main(["status", str(tmp_path / "job")]) == 0
    assert "on 0 connections to 4 servers" in capsys.readouterr().out


def test_counts_of_a_node_of_a_cluster_add_up(tmp_path, capsys):
    """It keeps in mind only those URLs that have ended with it."""
    with closing(Job(tmp_path / "job", [], warc_size=10**9, about={})) as job:
        frontier = Frontier(job.load)
        job.restore(frontier, Pace(), now=0.0, wall=0.0)
        asyncio.run(job.commit(frontier, stats=Stats(fetched=Counter({"200": 3})).to_dict()))
    assert main(["status", str(tmp_path / "job")]) == 0
    said = capsys.readouterr().out
    assert "3 URLs known, of which" in said
    assert "-3 " not in said


def test_what_a_server_said_cannot_steer_the_terminal(tmp_path, capsys):
    with closing(Journal(tmp_path / "journal.sqlite")) as journal:
        journal.commit(
            Batch(ended=[Ended("http://a.example/", "failed", "bad-redirect", "\x1b[2J\x9b2J\tü")])
        )
    assert main(["status", str(tmp_path), "--urls"]) == 0
    assert (
        capsys.readouterr().out
        == "failed\tbad-redirect\thttp://a.example/\t\ufffd[2J\ufffd2J\ufffdü\n"
    )
