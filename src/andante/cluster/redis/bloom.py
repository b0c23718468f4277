"""How large the Bloom filters are, and how often they err. The scripts go by the same rule (``seen_bloom.lua``).

Layers are filled one after another, each new one 0.6 times as large as all before it together, so that no more than 3/8 of the memory is
ever ahead of its use. The i-th errs at a rate of ``6 rate / (pi i)**2``, counted from 1; all together then err at no more than ``rate``, as the
sum of 1 / n**2 is pi**2 / 6 (Almeida, Baquero, Preguica and Hutchison 2007, "Scalable Bloom Filters").
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

FIRST = 32_768
"""URLs for which the first layer is made."""

GROWTH = 0.6
"""Size of a layer over that of all before it."""

BYTES_MAX = 33_554_432
"""Size of a layer at most: Redis makes 32 MB at once in some milliseconds."""


class Layer(NamedTuple):
    """A Bloom filter."""

    capacity: int
    bits: int
    hashes: int

    def errs(self, count: int) -> float:
        """Return how often it takes a new URL for one of ``count`` that are in it."""
        return float((-math.expm1(-self.hashes * count / self.bits)) ** self.hashes)


def layers(rate: float) -> Iterator[Layer]:
    """Yield the layers of a filter that is to err at no more than a rate."""
    room = index = 0
    while True:
        capacity = math.floor(room * GROWTH) if index else FIRST
        index += 1
        own_rate = rate * 6 / (math.pi**2 * index**2)
        per_url = -math.log(own_rate) / math.log(2) ** 2
        size = math.ceil(capacity * per_url / 8)
        if size > BYTES_MAX:
            size = BYTES_MAX
            capacity = math.floor(size * 8 / per_url)
        room += capacity
        yield Layer(capacity, size * 8, math.ceil(-math.log2(own_rate)))


def errs(rate: float, count: int) -> float:
    """Return how often a new URL is taken for a known one when so many are known."""
    wrong = 0.0
    for layer in layers(rate):
        wrong += layer.errs(min(count, layer.capacity))
        count -= layer.capacity
        if count <= 0:
            break
    return min(wrong, 1.0)
