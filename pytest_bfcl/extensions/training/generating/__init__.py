"""Tasks to train on: worlds, call graphs and requests made from simulators and tools, each one proved."""
