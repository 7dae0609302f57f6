"""One run on a Ray cluster, in a process of its own: ``python ray_run.py '{"address": …, "data": …, "out": …}'``."""

from __future__ import annotations

import json
import sys

from pytest_bfcl.extensions.cluster import Cluster
from pytest_bfcl.session.evaluation import run
from pytest_bfcl.settings import Settings

if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    settings = Settings(**asked.get("settings", {}))
    place = Cluster(asked["address"], actors=asked.get("actors")) if asked["address"] else None
    result = run(asked["data"], asked["models"], out=asked["out"], settings=settings, cluster=place)
    print(json.dumps({"stopped": result.stopped, "notes": result.notes, "lines": len(result.records)}))
