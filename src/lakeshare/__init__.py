"""Lakeshare: an open object store that shares tables."""

__version__ = "0.1.0"
