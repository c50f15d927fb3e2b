"""Servers as a client sees them: connections, requests and answers, S3 and the admin API."""
