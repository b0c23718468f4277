"""Wrong usage: one clear line, exit status 2, and nothing written."""

from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from subprocess import CompletedProcess

import pytest

from andante.cli import main


def andante(*arguments, cwd):
    """Run the command in this process: there are many wrong ways, and a start of its own takes longer than all that is tested here."""
    out, err = StringIO(), StringIO()
    with chdir(cwd), redirect_stdout(out), redirect_stderr(err):
        try:
            status = main(arguments)
        except SystemExit as left:
            status = left.code
    return CompletedProcess(arguments, status, out.getvalue(), err.getvalue())


URL = "http://127.0.0.1:9/"

WRONG = [
    (["crawl"], "no seeds: give at least one URL to start from"),
    (
        ["crawl", "example.com"],
        "'example.com' is not a URL that can be crawled (http or https, without credentials); did you mean https://example.com?",
    ),
    (["crawl", "ftp://example.com/"], "'ftp://example.com/' is not a URL that can be crawled"),
    (["crawl", "http://user:secret@example.com/"], "is not a URL that can be crawled"),
    (
        ["crawl", URL, "--rate", "40/fortnight"],
        "--rate: '40/fortnight' is not a rate: write a number above 0 such as 40/min, 2/s or 100/h, or max",
    ),
    (["crawl", URL, "--rate", "0/min"], "--rate: '0/min' is not a rate"),
    (["crawl", URL, "--rate", "-5/min"], "--rate: '-5/min' is not a rate: write a number above 0"),
    (["crawl", URL, "--retry-wait", "-5s"], "--retry-wait: '-5s' is not a duration"),
    (["crawl", URL, "--max-pages", "-5"], "--max-pages: '-5' is not a whole number"),
    (["crawl", URL, "--max-pages", "none"], "--max-pages: 'none' is not a whole number"),
    (
        ["crawl", URL, "--max-time", "10"],
        "--max-time: '10' is not a duration such as 500ms, 10s, 10m, 2h or 1d",
    ),
    (
        ["crawl", URL, "--max-body", "5"],
        "--max-body: '5' is not a size such as 500kB, 64MiB or 1GB",
    ),
    (["crawl", URL, "--scope", "world"], "--scope: 'world' is not one of host, site, any"),
    (["crawl", URL, "--per-server", "0"], "per_server: 0 is below 1"),
    (
        ["crawl", URL, "--policy", "qualty"],
        "policy: unknown policy 'qualty'; did you mean quality? (there are",
    ),
    (["crawl", URL, "--policy", "nowhere:Policy"], "policy 'nowhere:Policy' cannot be made"),
    (
        ["crawl", URL, "--quality", "opic"],
        "quality: it is of no use with the policy breadth-first; give --policy quality or capability, or leave it out",
    ),
    (
        ["crawl", URL, "--policy", "quality", "--quality", "opik"],
        "quality: unknown quality 'opik'; did you mean 'opic'?",
    ),
    (
        ["crawl", URL, "--policy", "quality", "--quality", "file:none.csv"],
        "quality: cannot read none.csv: No such file or directory",
    ),
    (["crawl", URL, "--max-wait", "0"], "max_wait: it must be above 0"),
    (["crawl", URL, "--include", "("], "include: '(' is not a regular expression"),
    (["crawl", URL, "--header", "nonsense"], "header: 'nonsense' is not of the form 'Name: value'"),
    (
        ["crawl", URL, "--resolve", "nonsense"],
        "resolve: 'nonsense' is not of the form HOST:PORT:ADDR",
    ),
    (["crawl", URL, "--resolve", "host:80:not-an-address"], "not-an-address"),
    (["crawl", URL, "--ca-file", "none.pem"], "ca_file: none.pem is not a file"),
    (["crawl", URL, "--config", "none.toml"], "cannot read none.toml: No such file or directory"),
    (
        ["crawl", URL, "--output", "pages.pdf"],
        "output: pages.pdf does not end in one of .warc.gz, .warc, .jsonl.gz, .jsonl, .parquet",
    ),
    (["crawl", URL, "--output", "nowhere/pages.jsonl"], "there is no directory"),
    (["status", "nowhere"], "nowhere holds no job"),
    (["crowl", URL], "invalid choice: 'crowl'"),
    ([], "the following arguments are required: COMMAND; see andante --help"),
]


@pytest.mark.parametrize(
    ("arguments", "message"),
    WRONG,
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage(tmp_path, arguments, message):
    done = andante(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.startswith("andante: ")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_flag(tmp_path):
    done = andante("crawl", URL, "--rat", "1/s", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "andante: unrecognized arguments: --rat 1/s; see andante --help\n"
    assert list(tmp_path.iterdir()) == []


def test_a_bad_config_names_the_key_and_the_nearest(tmp_path):
    (tmp_path / "crawl.toml").write_text("max_page = 3\n")
    done = andante("crawl", URL, "--config", "crawl.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert (
        done.stderr
        == "andante: crawl.toml: unknown setting 'max_page'; did you mean 'max_pages'?\n"
    )


def test_an_unwritable_directory(tmp_path):
    """A file stands where the directory should be made: root is refused as well."""
    (tmp_path / "file").write_text("")
    done = andante("crawl", URL, "--job", "file/job", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "andante: cannot use file/job as a job directory: Not a directory\n"


def test_a_directory_with_other_things_in_it(tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_text("")
    done = andante("crawl", URL, "--job", "photos", cwd=tmp_path)
    assert done.returncode == 2
    assert "photos holds other files and no job" in done.stderr
    assert [path.name for path in (tmp_path / "photos").iterdir()] == ["cat.jpg"]


def test_an_output_that_is_there_already(tmp_path):
    (tmp_path / "pages.jsonl").write_text("precious\n")
    done = andante("crawl", URL, "--job", "job", "--output", "pages.jsonl", cwd=tmp_path)
    assert done.returncode == 2
    assert "pages.jsonl is there already" in done.stderr
    assert (tmp_path / "pages.jsonl").read_text() == "precious\n"
    assert not (tmp_path / "job").exists()


@pytest.mark.parametrize("command", [[], ["crawl"], ["status"]])
def test_help_is_there(tmp_path, command):
    done = andante(*command, "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "usage: andante" in done.stdout


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://127.0.0.1:9/", "127.0.0.1_9"),
        ("http://127.0.0.1:10/", "127.0.0.1_10"),
        ("https://localhost:9/", "localhost_9"),
        ("http://[::1]:9/", "__1_9"),
    ],
)
def test_a_job_is_named_after_host_and_port(tmp_path, url, name):
    """Of two sites on one machine each has its own."""
    flags = ("--max-time", "1ms", "--quiet")
    assert andante("crawl", url, *flags, cwd=tmp_path).returncode == 1
    assert [path.name for path in tmp_path.iterdir()] == [name]
