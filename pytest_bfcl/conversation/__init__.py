"""Entry and model in, transcript out: prompts, turns and steps, look-ahead. Does not import pytest."""
