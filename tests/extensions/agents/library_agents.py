"""The agents of docs/agents.md, as the page has them; the model is asked at ``AGENT_BASE_URL``."""

import os
import re
from pathlib import Path

URL, KEY = os.environ.get("AGENT_BASE_URL", "http://127.0.0.1:1/v1"), "none"
PAGE = (Path(__file__).parents[3] / "docs" / "agents.md").read_text(encoding="utf-8")
RECIPES = {name: code for code, name in re.findall(r"^```py\n(def (\w+)\(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)}
for code in RECIPES.values():
    exec(code)  # noqa: S102 - our own page
