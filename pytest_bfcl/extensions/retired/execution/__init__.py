"""Where calls of executable entries are carried out: our own functions, and SQL on fixtures, in a subprocess.

The one place that runs something for a model. It has worker processes
(`pool`) with limits on time, memory and system calls (`limits`), which look names up in `functions` and know nothing
else. The conversation records what came out in the transcript; checkers judge that record and execute nothing.
"""
