from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pytest_bfcl.runs import import_official
from pytest_bfcl.runs.official_layout import result_files


def test_model_folders_and_modes_are_found_from_any_root(tmp_path: Path) -> None:
    def put(model: str, group: str, category: str, result: Any) -> None:
        file = tmp_path / "result" / model / group / f"BFCL_v4_{category}_result.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"id": f"{category}_0", "result": result}) + "\n")

    put("a_native", "non_live", "simple_python", [{"f": "{}"}])
    put("a_native", "live", "live_simple", "no call")
    put("b_text", "agentic", "web_search_base", [["final"]])
    put("c-FC", "agentic/memory/kv", "memory_kv", [["final"]])
    for root in (tmp_path, tmp_path / "result"):
        assert {name for name, _, _ in result_files(root)} == {"a_native", "b_text", "c-FC"}
    assert {name for name, _, _ in result_files(tmp_path / "result" / "c-FC")} == {"c-FC"}
    modes = {(line["model"], line["mode"], line["underscore_names"]) for line in import_official(tmp_path)}
    assert modes == {("a_native", "fc", True), ("b_text", "prompt", False), ("c-FC", "fc", True)}
    forced = import_official(tmp_path, mode="prompt", underscore_names=True)
    assert {(line["mode"], line["underscore_names"]) for line in forced} == {("prompt", True)}
