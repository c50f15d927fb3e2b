"""The admin API on the wire: the table of routes, JSON in and out, and its OpenAPI document."""
