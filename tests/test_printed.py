import pytest

from andante.printed import printed


@pytest.mark.parametrize("text", ["", "node-1", "größer 東京", "[fd00::1]", "[bold]x[/bold]"])
def test_what_is_harmless_stays(text):
    assert printed(text) == text


@pytest.mark.parametrize(
    "character",
    ["\x1b", "\n", "\r", "\t", "\0", "\x7f", "\x9b", "\u202e", "\u2028", "\ue000", "\udc80"],
)
def test_what_steers_a_terminal_is_replaced(character):
    assert printed(f"a{character}[31mb") == "a\ufffd[31mb"
