"""Rows of a shared table as a recipient gets them: by a profile, over the sharing protocol, from its links."""
