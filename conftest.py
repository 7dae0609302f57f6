"""The repository's own tests are collected as usual; the bundled entries are collected when a model is given.

Run them with ``pytest --model oracle: --bfcl-data=bundled``.
"""
