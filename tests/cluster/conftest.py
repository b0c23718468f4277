import pytest

from support.cluster import in_memory, on_redis


@pytest.fixture(params=["memory", "exact", "bloom", "masters"])
def backend(request):
    """Each store there is; ``masters`` is Redis in cluster mode."""
    if request.param == "memory":
        return in_memory()
    if request.param == "masters":
        masters = request.getfixturevalue("masters")
        return on_redis(masters.servers, masters.url)
    redis = request.getfixturevalue("redis")
    return on_redis([redis], redis.url, seen=request.param)
