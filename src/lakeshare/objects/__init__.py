"""Buckets and keys: the S3 API."""
