"""Recorded conversations with tools, in the formats of APIs, tracers and data sets: each finds requests and replies.

What is in their messages is read by `pytest_bfcl.replies`.
"""
