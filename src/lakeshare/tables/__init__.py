"""Namespaces and commits: the Iceberg REST catalog inside the store."""
