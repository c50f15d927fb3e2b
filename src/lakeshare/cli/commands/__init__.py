"""The commands, a file a verb or a noun."""
