import math
from dataclasses import fields
from pathlib import Path

import pytest

from andante.crawl.settings import Settings, SettingsError, from_strings, load


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"rate": "40/min"}, {"rate": 40.0}),
        ({"rate": "max"}, {"rate": math.inf}),
        ({"max-time": "10m"}, {"max_time": 600.0}),
        ({"max_body": "64MiB"}, {"max_body": 2**26}),
        ({"max_pages": 5}, {"max_pages": 5}),
        ({"max_pages": "5"}, {"max_pages": 5}),
        ({"output": "x.jsonl"}, {"output": (Path("x.jsonl"),)}),
        ({"include": ["a", "b"]}, {"include": ("a", "b")}),
        ({"job": "dir"}, {"job": Path("dir")}),
        ({"sitemaps": True}, {"sitemaps": True}),
        ({"scope": "site"}, {"scope": "site"}),
        ({"scope": "Site"}, {"scope": "site"}),
        ({"connections": "AUTO"}, {"connections": "auto"}),
        ({"delay": 1.5}, {"delay": 1.5}),
    ],
)
def test_values_as_written(written, expected):
    assert from_strings(written) == expected


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"rat": "1/s"}, "unknown setting 'rat'; did you mean 'rate'?"),
        ({"max-page": 1}, "unknown setting 'max-page'; did you mean 'max_pages'?"),
        ({"zzz": 1}, "unknown setting 'zzz'; did you mean "),
        ({"rate": "fast"}, "rate: 'fast' is not a rate"),
        ({"rate": "0/min"}, "rate: '0/min' is not a rate"),
        ({"delay": "10"}, "delay: '10' is not a duration"),
        ({"max_body": "big"}, "max_body: 'big' is not a size"),
        ({"max_pages": "many"}, "max_pages: 'many' is not a whole number"),
        ({"max_pages": 1.5}, "max_pages: 1.5 is not a whole number"),
        ({"max_pages": True}, "max_pages: True is not"),
        ({"scope": "all"}, "scope: 'all' is not one of host, site, any"),
        ({"sitemaps": "yes"}, "sitemaps: 'yes' is not true or false"),
        ({"include": 3}, "include: 3 is not a list"),
        ({"user_agent": 3}, "user_agent: 3 is not a text"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(written, message):
    with pytest.raises(SettingsError) as caught:
        from_strings(written, where="crawl.toml: ")
    assert str(caught.value).startswith(f"crawl.toml: {message}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"max_pages": 0}, "max_pages: 0 is below 1"),
        ({"per_server": 0}, "per_server: 0 is below 1"),
        ({"retries": -1}, "retries: -1 is below 0"),
        ({"connect_timeout": 0.0}, "connect_timeout: it must be above 0"),
        ({"rate": math.nan}, "rate: it must be above 0"),
        ({"include": ("(",)}, "include: '(' is not a regular expression"),
        ({"header": ("no colon",)}, "header: 'no colon' is not of the form"),
        ({"header": ("X: a\r\nY: b",)}, "header: "),
        ({"resolve": ("host",)}, "resolve: 'host' is not of the form HOST:PORT:ADDR"),
        ({"user_agent": "a\nb"}, "user_agent: it must be one line"),
        ({"ca_file": Path("/nowhere")}, "ca_file: /nowhere is not a file"),
        (
            {"header": ("X-Key: a",), "secret_header": ("X-Kye",)},
            "secret_header: there is no header 'X-Kye'; give it with header, too",
        ),
        (
            {"public_only": True, "allow_private": True},
            "public_only: it does not go with allow_private; leave one of them out",
        ),
        ({"ca_file": Path("x" * 300)}, f"ca_file: {'x' * 300}: File name too long"),
        ({"ca_file": Path("a\0b")}, "ca_file: "),
        ({"header": ("X: \u2603",)}, "header: 'X: \u2603' has '\u2603', which no header can carry"),
        ({"user_agent": "\u0436"}, "user_agent: '\u0436' has '\u0436', which no header can carry"),
        ({"body_memory": -1}, "body_memory: -1 is below 0"),
        ({"lease": 3.0}, "lease: it must be 4 times the heartbeat, or more"),
        ({"heartbeat": 3.0}, "lease: it must be 4 times the heartbeat, or more"),
    ],
)
def test_values_out_of_range(values, message):
    with pytest.raises(SettingsError) as caught:
        Settings(**values)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_headers_in_latin_1_are_fine():
    assert Settings(header=("X: \xe9\xff",), user_agent="caf\xe9/1").header == ("X: \xe9\xff",)


def test_a_file_has_seeds_and_settings(tmp_path):
    path = tmp_path / "crawl.toml"
    path.write_text('seeds = ["http://a.example/"]\nrate = "40/min"\nmax-depth = 3\n')
    assert load(path) == {"seeds": ["http://a.example/"], "rate": 40.0, "max_depth": 3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rat = 1", "unknown setting 'rat'; did you mean 'rate'?"),
        ("seeds = 'http://a.example/'", "seeds: a list of URLs is wanted"),
        ("rate = ", "is not TOML"),
        ("[crawl]\nrate = '1/s'", "unknown setting 'crawl'"),
    ],
)
def test_a_bad_file_is_named(tmp_path, text, message):
    path = tmp_path / "crawl.toml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=r"crawl\.toml") as caught:
        load(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(SettingsError, match=r"cannot read .*none\.toml: No such file"):
        load(tmp_path / "none.toml")


def test_every_setting_has_help_and_a_group():
    for item in fields(Settings):
        assert item.metadata["help"][0].isupper(), item.name
        assert item.metadata["group"], item.name


@pytest.mark.parametrize(
    "wrong",
    [
        {"recent": -1},
        {"max_report": 0},
        {"max_unheard": 0},
        {"balance": "level"},
        {"heartbeat": 0},
        {"lease": "0s"},
    ],
)
def test_settings_of_a_cluster_are_checked(wrong):
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        Settings(**wrong)
    assert Settings(recent=0, max_report=1, max_unheard=1, balance="never").recent == 0
