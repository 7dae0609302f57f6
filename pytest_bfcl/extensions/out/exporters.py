"""A run in the formats where the field reads results: ``pytest-bfcl export RUN --format NAME -o DIR``.

Each function takes a run directory and a folder, and returns the files it wrote. They are entry points of the group
``pytest_bfcl.exporters``; other packages add formats the same way.
"""

from __future__ import annotations

from pathlib import Path


def every_eval_ever(run: Path, folder: Path) -> list[Path]:
    """EvalEval's *Every Eval Ever*, with samples."""
    from pytest_bfcl.extensions.out import evalever
    from pytest_bfcl.extensions.out.finished import Finished

    return evalever.export(Finished.open(run), folder)


def hf_eval_results(run: Path, folder: Path) -> list[Path]:
    """Hugging Face's ``.eval_results``."""
    from pytest_bfcl.extensions.out import hub
    from pytest_bfcl.extensions.out.finished import Finished

    return hub.export(Finished.open(run), folder)


def lm_eval(run: Path, folder: Path) -> list[Path]:
    """Results of lm-evaluation-harness."""
    from pytest_bfcl.extensions.out import harness
    from pytest_bfcl.extensions.out.finished import Finished

    return harness.export(Finished.open(run), folder)


def inspect_log(run: Path, folder: Path) -> list[Path]:
    """Inspect's ``.eval`` log."""
    from pytest_bfcl.extensions.out import inspect
    from pytest_bfcl.extensions.out.finished import Finished

    return inspect.export(Finished.open(run), folder)


def otel(run: Path, folder: Path) -> list[Path]:
    """OpenTelemetry spans as OTLP/JSON."""
    from pytest_bfcl.extensions.out import telemetry
    from pytest_bfcl.extensions.out.finished import Finished

    return telemetry.export(Finished.open(run), folder)


def badges(run: Path, folder: Path) -> list[Path]:
    """Badges as SVG and JSON."""
    from pytest_bfcl.extensions.out import badge
    from pytest_bfcl.extensions.out.finished import Finished

    return badge.export(Finished.open(run), folder)


def markdown(run: Path, folder: Path) -> list[Path]:
    """A table of scores for papers, as Markdown."""
    from pytest_bfcl.extensions.out import paper
    from pytest_bfcl.extensions.out.finished import Finished

    return paper.markdown(Finished.open(run), folder)


def latex(run: Path, folder: Path) -> list[Path]:
    """A table of scores for papers, as LaTeX."""
    from pytest_bfcl.extensions.out import paper
    from pytest_bfcl.extensions.out.finished import Finished

    return paper.latex(Finished.open(run), folder)
