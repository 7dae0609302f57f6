"""The memory whose texts are found by meaning, with its embeddings: the category ``memory_vector``."""
