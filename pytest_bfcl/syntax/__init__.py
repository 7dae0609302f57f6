"""Hostile text → values, in every notation of the benchmark: Python, Java, JavaScript, JSON, XML, native calls."""
