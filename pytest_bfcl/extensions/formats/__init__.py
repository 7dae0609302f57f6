"""Models' own formats: prompts by templates, replies by the handlers' readings and by installed parsers."""
