"""A confined process reaches nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REACHES = """
import sys
sys.path.insert(0, sys.argv[1])
from pytest_bfcl.confined.process import confine
import os, socket
confine(2**29)
def tried(what, act):
    try:
        act()
        print(what, "WORKED")
    except BaseException as error:
        print(what, type(error).__name__)
tried("open", lambda: open("/etc/hostname"))
tried("write", lambda: open(sys.argv[1] + "/never", "w"))
tried("system", lambda: os.system("true"))
tried("fork", lambda: os.fork())
tried("socket", lambda: socket.socket())
tried("listdir", lambda: os.listdir("/"))
tried("import", lambda: __import__("ctypes"))
tried("exec", lambda: getattr(__builtins__, "ex" + "ec")("1"))
tried("memory", lambda: bytearray(2 * 1024**3))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of other systems differ")
def test_a_confined_process_reaches_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", REACHES, str(ROOT)], capture_output=True, text=True, timeout=60, check=False
    )
    found = dict(line.split() for line in done.stdout.splitlines())
    assert found.pop("memory") == "MemoryError"
    assert len(found) == 8
    assert set(found.values()) == {"PermissionError"}
