"""Sharing on the wire: decode, call, encode."""
