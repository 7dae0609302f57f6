"""The table of families in docs/formats.md equals the code.

``python -m tests.extensions.formats.test_pages`` writes it.
"""

from __future__ import annotations

from pathlib import Path

from pytest_bfcl.formats.table import FORMATS, Format, registered_models

PAGE = Path(__file__).resolve().parents[3] / "docs" / "formats.md"
BEGIN, END = "<!-- families: begin -->\n", "<!-- families: end -->"
HEAD = "| family and mode | template | decoder | defects kept under official rules | registered models |"


def family_table() -> str:
    """One row for each family that the benchmark registers."""
    rows = (f"| {' | '.join(_cells(row))} |" for row in FORMATS.values())
    return "\n".join((HEAD, "|---|---|---|---|---|", *rows)) + "\n"


def _cells(row: Format) -> tuple[str, ...]:
    names = registered_models(row.name)
    models = f"`{names[0]}`" if names else "none"
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    defects = "; ".join(defect.replace("|", "\\|") for defect in row.defects)
    decoder = f"`{row.decoder}`" if row.decoder else "native calls"
    template = f"`{row.template}`" if row.template else "the server's"
    return (f"`{row.name}`, {row.mode}", template, decoder, defects, models + more)


def _parts() -> tuple[str, str, str]:
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    table, _, after = rest.partition(END)
    return before, table, after


def test_the_table_of_families_is_up_to_date():
    assert _parts()[1] == family_table(), "run: python -m tests.extensions.formats.test_pages"


if __name__ == "__main__":
    head, _, tail = _parts()
    PAGE.write_text(f"{head}{BEGIN}{family_table()}{END}{tail}", encoding="utf-8")
