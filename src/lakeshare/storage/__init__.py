"""Objects under a key: the ports and their implementations."""
