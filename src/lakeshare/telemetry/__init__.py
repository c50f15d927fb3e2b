"""Logs, metrics and audit events."""
