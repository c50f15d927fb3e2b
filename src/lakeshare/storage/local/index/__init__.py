"""The index: which bytes each key has. One database, whose transactions are the moments things become true."""
