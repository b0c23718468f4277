"""The part of the package that is compiled; all else about it is in pyproject.toml."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        # Without a C compiler pages are read by Lexbor: the same links, at several times the cost.
        Extension("andante.parse._scanner", ["src/andante/parse/_scanner.c"], optional=True)
    ]
)
