"""Entry and model in, transcript out: prompts, turns and steps, look-ahead. Knows nothing of pytest."""
