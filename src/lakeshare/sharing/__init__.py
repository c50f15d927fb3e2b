"""Shares and recipients: which tables are shared with whom, and the Delta Sharing protocol they are read by."""
