"""``python -m pytest_bfcl`` is the console script ``pytest-bfcl``."""

from __future__ import annotations

import sys

from pytest_bfcl.cli import main

if __name__ == "__main__":
    sys.exit(main())
