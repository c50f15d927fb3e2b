"""The lakeshare command line: a thin client."""
