"""What agentic entries act on: memories (`MemoryAPI_kv`, `MemoryAPI_rec_sum`) and web search."""
