import math

import pytest

from andante import units


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("500ms", 0.5),
        ("10s", 10),
        ("1.5m", 90),
        ("10min", 600),
        ("2h", 7200),
        ("1d", 86400),
        ("0", 0),
        (" 3 s ", 3),
    ],
)
def test_duration(text, expected):
    assert units.duration(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1B", 1), ("64KiB", 65536), ("1.5kB", 1500), ("64MiB", 2**26), ("1GB", 10**9)],
)
def test_size(text, expected):
    assert units.size(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("40/min", 40),
        ("2/s", 120),
        ("100 / h", 100 / 60),
        ("30/minute", 30),
        ("max", math.inf),
        ("MAX", math.inf),
        ("0.01/h", 0.01 / 60),
        ("1000000/s", 6e7),
    ],
)
def test_rate(text, expected):
    assert units.rate(text) == expected


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (units.duration, "10"),
        (units.duration, "-1s"),
        (units.duration, "ten s"),
        (units.size, "64"),
        (units.size, "1mb"),
        (units.rate, "0/min"),
        (units.rate, "-3/s"),
        (units.rate, "nan/s"),
        (units.rate, "40"),
        (units.rate, "40/fortnight"),
        (units.rate, "0.009/h"),
        (units.rate, "1000001/s"),
        (units.rate, "9" * 400 + "/min"),
        (units.duration, "9" * 400 + "s"),
        (units.size, "9" * 400 + "GB"),
    ],
)
def test_what_is_not_understood_is_said_in_one_line(parse, text):
    with pytest.raises(ValueError, match=f"^'{text}' is not") as caught:
        parse(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.42, "0.4 s"),
        (12, "12 s"),
        (60, "1 min"),
        (200, "3 min 20 s"),
        (3600, "1 h"),
        (7500, "2 h 5 min"),
        (90000, "1 d 1 h"),
    ],
)
def test_format_duration(seconds, expected):
    assert units.format_duration(seconds) == expected


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, "0 B"), (999, "999 B"), (1200, "1.2 kB"), (5e6, "5.0 MB"), (3e12, "3.0 TB")],
)
def test_format_size(count, expected):
    assert units.format_size(count) == expected


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, "0B"), (65536, "64KiB"), (10**9, "1GB"), (7, "7B"), (2**20 * 10, "10MiB")],
)
def test_format_binary_is_read_back(count, expected):
    assert units.format_binary(count) == expected
    assert units.size(expected) == count


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.0, "0"),
        (0.5, "500ms"),
        (1.0, "1s"),
        (10.0, "10s"),
        (90.0, "90s"),
        (120.0, "2m"),
        (86400.0, "1d"),
    ],
)
def test_format_exact_is_read_back(seconds, expected):
    assert units.format_exact(seconds) == expected
    assert units.duration(expected) == seconds


@pytest.mark.parametrize(
    ("count", "expected"), [(1, "1 page"), (0, "0 pages"), (1200, "1,200 pages")]
)
def test_counted(count, expected):
    assert units.counted(count, "page") == expected


@pytest.mark.parametrize(
    ("text", "bits"),
    [("100Mbit/s", 10**8), ("1 Gbit/s", 10**9), ("0.5kbit/s", 500), ("12MB/s", 96 * 10**6)],
)
def test_bandwidth(text, bits):
    assert units.bandwidth(text) == bits


@pytest.mark.parametrize("text", ["100", "100Mbps", "-1Mbit/s", "Mbit/s", "1Tbit/s", ""])
def test_what_is_no_bandwidth(text):
    with pytest.raises(ValueError, match="is not a bandwidth such as 100Mbit/s, 1Gbit/s or 12MB/s"):
        units.bandwidth(text)
