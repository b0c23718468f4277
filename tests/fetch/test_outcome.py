from __future__ import annotations

import re
from pathlib import Path

from andante.fetch import Outcome, outcome

RETRYABLE = {
    Outcome.OK: False,
    Outcome.NO_SUCH_HOST: False,
    Outcome.DNS: True,
    Outcome.FORBIDDEN_ADDRESS: False,
    Outcome.REFUSED: True,
    Outcome.UNREACHABLE: True,
    Outcome.CONNECT_TIMEOUT: True,
    Outcome.TLS: False,
    Outcome.STALE: True,
    Outcome.RESET: True,
    Outcome.CLOSED: True,
    Outcome.FIRST_BYTE_TIMEOUT: True,
    Outcome.IDLE_TIMEOUT: True,
    Outcome.TOTAL_TIMEOUT: True,
    Outcome.BAD_RESPONSE: False,
    Outcome.HEADER_TOO_LARGE: False,
    Outcome.BAD_ENCODING: False,
    Outcome.DECODED_TOO_LARGE: False,
}


def test_every_outcome_says_whether_to_try_again():
    assert {member: member.retryable for member in Outcome} == RETRYABLE


def test_names_are_for_records():
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", member) for member in Outcome)
    assert str(Outcome.NO_SUCH_HOST) == f"{Outcome.NO_SUCH_HOST}" == "no-such-host"
    assert Outcome("no-such-host") is Outcome.NO_SUCH_HOST


def test_every_outcome_is_explained():
    source = Path(outcome.__file__).read_text()
    for member in Outcome:
        assert re.search(rf'    {member.name} = "{member}"(, True)?\n    """[A-Z]', source), member
