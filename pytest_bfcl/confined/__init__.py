"""Where hostile input is worked on: worker processes with limits on time, memory and system calls.

A `Service` names what a worker does and what it may use; a `Worker` is one such process, asked one line at a time. Who
has calls to carry out, a chat template to render or a document to read brings its own service; nothing here knows
what the lines say.
"""

from __future__ import annotations

from pytest_bfcl.confined.process import Service
from pytest_bfcl.confined.worker import Stopped, Worker

__all__ = ["Service", "Stopped", "Worker"]
