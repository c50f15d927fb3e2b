"""The values of sharing, and their rules. No I/O."""
