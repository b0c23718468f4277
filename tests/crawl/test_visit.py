"""What a visit sends together; what it sends at all is in tests/e2e."""

import asyncio
from math import inf
from types import SimpleNamespace

from andante.crawl.visit import Visitor
from andante.frontier import Measured


class Visits(Visitor):
    """A visitor of a server that is well again after so many answers; it has ten URLs, and each is answered in a turn of the loop."""

    def __init__(self, failures):
        self.failures = failures
        self.urls = list(range(10))
        self.under_way = 0
        self.together = []
        self._state = SimpleNamespace(
            settings=SimpleNamespace(pipeline=4),
            may_go=lambda _: True,
            frontier=SimpleNamespace(widen=lambda _: None),
            put_back=self.urls.append,
        )
        self._throttle = SimpleNamespace(is_well=lambda _: self.failures == 0)
        self._robots = SimpleNamespace(is_wanted=lambda _: False)

    async def _next_task(self, server):
        return self.urls.pop() if self.urls else None

    async def _fetch(self, connection, task, measured):
        self.under_way += 1
        self.together.append(self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        self.failures = max(0, self.failures - 1)


def test_a_server_in_trouble_gets_one_request_at_a_time_though_they_are_pipelined():
    for failures, together in ((0, [1, 2, 3, 4]), (3, [1, 1, 1, 1, 2, 3, 4]), (20, [1] * 10)):
        visits = Visits(failures)
        connection = SimpleNamespace(is_reusable=True)
        server = SimpleNamespace(turn=inf)
        asyncio.run(visits._lanes(server, connection, Measured(), "first"))
        assert visits.together[: len(together)] == together
        assert len(visits.together) == 11, "each URL once"
