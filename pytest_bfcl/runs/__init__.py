"""The run directory: append-only results, journal, snapshots; resume, import, export, merge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bfcl.late_names import homes_of, late_names

if TYPE_CHECKING:
    from pytest_bfcl.runs.directory import RunDirectory as RunDirectory
    from pytest_bfcl.runs.directory import default_path as default_path
    from pytest_bfcl.runs.directory import is_run as is_run
    from pytest_bfcl.runs.fingerprint import RULES_VERSION as RULES_VERSION
    from pytest_bfcl.runs.fingerprint import Fingerprint as Fingerprint
    from pytest_bfcl.runs.fingerprint import ModelFingerprint as ModelFingerprint
    from pytest_bfcl.runs.fingerprint import plugin_version as plugin_version
    from pytest_bfcl.runs.fingerprint import utc_now as utc_now
    from pytest_bfcl.runs.journal import Journal as Journal
    from pytest_bfcl.runs.journal import ReplyKey as ReplyKey
    from pytest_bfcl.runs.journal import journal_line as journal_line
    from pytest_bfcl.runs.journal import read_journal_line as read_journal_line
    from pytest_bfcl.runs.lines import DamagedLine as DamagedLine
    from pytest_bfcl.runs.lines import json_line as json_line
    from pytest_bfcl.runs.lines import read_json_lines as read_json_lines
    from pytest_bfcl.runs.merge import merge_runs as merge_runs
    from pytest_bfcl.runs.official_layout import import_official as import_official
    from pytest_bfcl.runs.replay_lines import entry_from_line as entry_from_line
    from pytest_bfcl.runs.replay_lines import read_replay_lines as read_replay_lines
    from pytest_bfcl.runs.replay_lines import transcript_from_line as transcript_from_line
    from pytest_bfcl.runs.requests import RequestDelta as RequestDelta
    from pytest_bfcl.runs.requests import Requests as Requests
    from pytest_bfcl.runs.requests import request_digest as request_digest
    from pytest_bfcl.runs.result_line import EntryKey as EntryKey
    from pytest_bfcl.runs.result_line import ReplayLine as ReplayLine
    from pytest_bfcl.runs.result_line import ResultLine as ResultLine
    from pytest_bfcl.runs.results import error_record as error_record
    from pytest_bfcl.runs.results import is_settled as is_settled
    from pytest_bfcl.runs.results import read_results as read_results
    from pytest_bfcl.runs.results import record_key as record_key
    from pytest_bfcl.runs.results import result_record as result_record
    from pytest_bfcl.runs.results import skipped_record as skipped_record
    from pytest_bfcl.runs.snapshots import Snapshots as Snapshots
    from pytest_bfcl.runs.snapshots import snapshots_of as snapshots_of
    from pytest_bfcl.runs.summary_types import Summary as Summary
    from pytest_bfcl.runs.transcripts import Transcripts as Transcripts

_NAMES = {
    "directory": "RunDirectory default_path is_run",
    "fingerprint": "RULES_VERSION Fingerprint ModelFingerprint plugin_version utc_now",
    "journal": "Journal ReplyKey journal_line read_journal_line",
    "lines": "DamagedLine json_line read_json_lines",
    "merge": "merge_runs",
    "official_layout": "import_official",
    "replay_lines": "entry_from_line read_replay_lines transcript_from_line",
    "requests": "RequestDelta Requests request_digest",
    "result_line": "EntryKey ReplayLine ResultLine",
    "results": "error_record is_settled read_results record_key result_record skipped_record",
    "snapshots": "Snapshots snapshots_of",
    "summary_types": "Summary",
    "transcripts": "Transcripts",
}

if not TYPE_CHECKING:
    __getattr__ = late_names(__name__, homes_of(_NAMES))
