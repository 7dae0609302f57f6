"""What agentic entries act on: three memories (`MemoryAPI_kv`, `_vector`, `_rec_sum`) and web search."""
