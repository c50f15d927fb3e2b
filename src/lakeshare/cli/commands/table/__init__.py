"""table: sharing tables with others."""
