"""Models' own formats: prompts by their templates, replies by their handlers and by installed parsers."""
