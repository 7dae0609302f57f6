"""Hostile text → values, in each notation a benchmark has: Python, Java, JavaScript, JSON, XML, native calls."""
