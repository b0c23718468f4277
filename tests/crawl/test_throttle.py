import pytest

from andante.crawl.throttle import retry_after
from andante.fetch import Response

NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (b"120", 120.0),
        (b" 5 ", 5.0),
        (b"0", 0.0),
        (b"999999999", 86_400.0),
        (b"Tue, 14 Nov 2023 22:14:20 GMT", 60.0),
        (b"Tue, 14 Nov 2023 22:00:00 GMT", 0.0),
        (b"Fri, 14 Nov 2098 22:00:00 GMT", 86_400.0),
        (b"soon", 0.0),
        (b"-5", 0.0),
        (b"1e9", 0.0),
        (b"\xff", 0.0),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_bounded(value, seconds):
    response = Response(503, "", "1.1", [(b"Retry-After", value)], b"", 0.0, 0.0, 0.0, 0)
    assert retry_after(response, NOW) == seconds


def test_no_retry_after_asks_for_nothing():
    assert retry_after(Response(503, "", "1.1", [], b"", 0.0, 0.0, 0.0, 0), NOW) == 0.0
