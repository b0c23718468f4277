"""Run a command and print its cost as JSON: ``python -I -S measured.py FILE COMMAND...``.

A process of its own, and a small one: a child's peak memory counts from that of the process it was forked from.
"""

import json
import os
import sys
import time

started = time.time()
pid = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
cost = {
    "started": started,
    "wall": time.time() - started,
    "cpu": usage.ru_utime + usage.ru_stime,
    "memory": usage.ru_maxrss * 1024,
    "exit": os.waitstatus_to_exitcode(status),
}
with open(sys.argv[1], "w") as file:  # noqa: PTH123 (pathlib alone would double the size)
    json.dump(cost, file)
