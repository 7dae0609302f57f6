"""The judge for any harness: tasks, conversations with them, and what their outcome is (docs/judge.md).

Knows neither pytest nor an HTTP client. `pytest_bfcl.judge` is the public module.
"""
