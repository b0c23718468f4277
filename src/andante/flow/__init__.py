"""How fast: when the next request may go."""

from andante.flow.pace import Pace

__all__ = ["Pace"]
