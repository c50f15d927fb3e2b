"""Policies in AWS's JSON syntax: read, compiled and evaluated. Pure: no I/O, no clock, no state."""
