"""The run directory: append-only results, journal, transcripts, snapshots; resume, import, export, merge."""

from pytest_bfcl.runs.directory import RunDirectory, default_path, is_run
from pytest_bfcl.runs.fingerprint import RULES_VERSION, Fingerprint, ModelFingerprint, plugin_version, utc_now
from pytest_bfcl.runs.following import FollowedResults, FollowedTranscripts
from pytest_bfcl.runs.journal import (
    Journal,
    ReplyKey,
    RequestDigests,
    journal_line,
    read_journal_line,
    request_digest,
)
from pytest_bfcl.runs.lines import DamagedLine, json_line, read_json_lines
from pytest_bfcl.runs.merge import merge_runs
from pytest_bfcl.runs.official_layout import import_official
from pytest_bfcl.runs.replay_lines import (
    entry_from_line,
    line_from_transcript,
    read_replay_lines,
    transcript_from_line,
)
from pytest_bfcl.runs.result_line import ReplayLine, ResultLine
from pytest_bfcl.runs.results import (
    error_record,
    is_settled,
    read_results,
    record_key,
    result_record,
    skipped_record,
    to_rerun,
)
from pytest_bfcl.runs.snapshots import Snapshots, snapshots_of
from pytest_bfcl.runs.summary_types import Summary
from pytest_bfcl.runs.transcripts import EntryKey, Place, TranscriptStore, packed_transcript

__all__ = [
    "RULES_VERSION",
    "DamagedLine",
    "EntryKey",
    "Fingerprint",
    "FollowedResults",
    "FollowedTranscripts",
    "Journal",
    "ModelFingerprint",
    "Place",
    "ReplayLine",
    "ReplyKey",
    "RequestDigests",
    "ResultLine",
    "RunDirectory",
    "Snapshots",
    "Summary",
    "TranscriptStore",
    "default_path",
    "entry_from_line",
    "error_record",
    "import_official",
    "is_run",
    "is_settled",
    "journal_line",
    "json_line",
    "line_from_transcript",
    "merge_runs",
    "packed_transcript",
    "plugin_version",
    "read_journal_line",
    "read_json_lines",
    "read_replay_lines",
    "read_results",
    "record_key",
    "request_digest",
    "result_record",
    "skipped_record",
    "snapshots_of",
    "to_rerun",
    "transcript_from_line",
    "utc_now",
]
