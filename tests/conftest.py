"""What tests of several folders share."""

import pytest

from support.demo import demo_web


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """The demo web, for all tests that want it."""
    with demo_web(tmp_path_factory.mktemp("demo")) as web:
        yield web
