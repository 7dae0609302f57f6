"""Inference engines of ``--bfcl-serve``, and checks of an installation and a server."""
