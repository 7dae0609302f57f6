from __future__ import annotations

from tests.reporting.conftest import _browser as _browser
from tests.reporting.conftest import browser as browser
from tests.scoring.conftest import golden as golden
