"""What ends a command with one line in the place of a traceback."""

INTERRUPTED = 130
"""Exit status of a command that was interrupted: what the shell gives for Ctrl-C."""


class AndanteError(Exception):
    """Something is not as it must be; the message is one line for the user."""

    exit_status = 2
    """Of the command that it ends: 2 for wrong usage, 1 for what may work another time."""
