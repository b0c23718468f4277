from __future__ import annotations

import re
from pathlib import Path

from andante.fetch import Outcome, outcome


def test_names_are_for_records():
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", member) for member in Outcome)
    assert str(Outcome.NO_SUCH_HOST) == f"{Outcome.NO_SUCH_HOST}" == "no-such-host"
    assert Outcome("no-such-host") is Outcome.NO_SUCH_HOST


def test_every_outcome_is_explained():
    source = Path(outcome.__file__).read_text()
    for member in Outcome:
        assert re.search(rf'    {member.name} = "{member}"(, True)?\n    """[A-Z]', source), member
