from contextlib import closing

from andante.cli import main
from andante.store.journal import Batch, Ended, Journal


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
