"""The ASGI edge: requests, responses, limits, TLS and zero-copy sends. Knows no room."""
