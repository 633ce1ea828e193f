# SPDX-License-Identifier: Apache-2.0
"""What the comparisons share: where the tree is, the head of a record (what ran,
where and when), writing it, and the median of ratios with its interval."""
import datetime
import json
import math
import os
import pathlib
import platform
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def processor():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")),
                platform.processor())


def new_record(bench, **more):
    """A record without rows; the versions of both sides stand with their samples."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return {"schema": 1, "bench": bench, "command": " ".join(sys.argv),
            "date": now.isoformat(timespec="seconds"),
            "host": {"system": platform.platform(), "processor": processor(),
                     "cores": len(os.sched_getaffinity(0)), "load": os.getloadavg()[0]},
            **more, "rows": []}


def write_record(path, record):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record) + "\n")


def median_with_interval(values):
    """The median and the order statistics that hold it at 95 % or more; all of them when few."""
    ordered, n = sorted(values), len(values)
    k = 0
    while k + 1 < n / 2 and 2 * sum(math.comb(n, i) for i in range(k + 2)) / 2**n <= 0.05:
        k += 1
    return statistics.median(ordered), ordered[k], ordered[n - 1 - k]
