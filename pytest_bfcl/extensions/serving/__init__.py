"""Inference engines of ``--bfcl-serve``, and what an installation and a server lack."""
