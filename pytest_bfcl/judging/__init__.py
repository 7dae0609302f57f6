"""The judge for any harness: tasks, conversations about them, and their outcome (docs/judge.md).

Imports neither pytest nor an HTTP client. `pytest_bfcl.judge` is the public module.
"""
