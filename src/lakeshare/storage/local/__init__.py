"""Immutable blobs and one SQLite index on a local file system."""
