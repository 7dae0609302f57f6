"""Live web search through SerpApi: ``--bfcl-search serpapi``, with a key in ``SERPAPI_API_KEY``."""
