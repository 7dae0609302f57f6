"""Models' own formats as the benchmark's handlers read them, every defect included."""
