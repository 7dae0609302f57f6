"""Recorded outputs judged: one file line by line, many in pieces and processes, or on a cluster."""
