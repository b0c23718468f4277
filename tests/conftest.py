"""What tests of several folders share."""

import pytest
from hypothesis import settings

from support.demo import demo_web

# The same examples each time: what fails, fails for everybody.
settings.register_profile("andante", derandomize=True)
settings.load_profile("andante")


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """The demo web, for all tests that want it."""
    with demo_web(tmp_path_factory.mktemp("demo")) as web:
        yield web
