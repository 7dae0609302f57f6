"""Tasks for training: worlds, call graphs and requests made from simulators and tools, each one proved."""
