"""Executes calls of executable entries: our own functions, and SQL on tables, in a subprocess.

Only this package executes calls for a model. Its worker processes (`pool`) have limits on time, memory and system calls
(`limits`), and look names up in `functions`. The conversation stores the results in the transcript; checkers judge them
and execute nothing.
"""
