"""Worker processes for hostile input, with limits on time, memory and system calls. A `Service` names a worker's task
and limits; a `Worker` is one process, which answers one line at a time. Users of this package (execution of calls, chat
templates, documents) define their own services and lines.
"""

from __future__ import annotations

from pytest_bfcl.confined.process import Service
from pytest_bfcl.confined.worker import Stopped, Worker

__all__ = ["Service", "Stopped", "Worker"]
