"""The Iceberg REST protocol: from a request to a value, and from an answer to JSON."""
