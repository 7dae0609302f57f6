"""Runs on a Ray cluster (docs/scale.md)."""

from pytest_bfcl.extensions.cluster import Cluster

__all__ = ["Cluster"]
