"""A forge for comments and recipes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.extensions.out.forge import Forge, serving


@pytest.fixture
def forge() -> Iterator[Forge]:
    with serving(Forge()) as found:
        yield found
