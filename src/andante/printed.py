"""What strangers have written, as it may be printed: servers, other nodes, whoever can write to a shared store."""

from __future__ import annotations


def printed(text: str) -> str:
    """Return a text in one line that steers no terminal.

    Whatever is not printable (escape sequences, newlines, signs that turn the direction of writing) is replaced by U+FFFD.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else "\ufffd" for each in text)
