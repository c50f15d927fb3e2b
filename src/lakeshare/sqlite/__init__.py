"""SQLite as several processes of one machine share it: one writer at a time, readers never waiting.

Lives below `storage` and `state`, which each keep a database of their own, and knows no table of either.
"""
