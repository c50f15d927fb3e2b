"""The values of administration, and their rules. No I/O."""
