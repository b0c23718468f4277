"""The experiments of the sources, and comparisons on the same plants; each module has one function, ``run``."""
