"""Tools of agentic entries: memories (`MemoryAPI_kv`, `MemoryAPI_rec_sum`) and web search."""
