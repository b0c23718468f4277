"""The store on Redis; needs the extra ``cluster``."""

from andante.cluster.redis.inspect import Inspection, crawls, inspect, remove
from andante.cluster.redis.store import RedisStore

__all__ = ["Inspection", "RedisStore", "crawls", "inspect", "remove"]
