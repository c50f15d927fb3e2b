"""Does what the index says hold on disk? Reads only, and is safe beside a running server.

What is in flight is told from what is wrong by asking again: a blob without a row counts only once it is a day old,
and a row without its blob only if the row is still there after the files were looked at.
"""
