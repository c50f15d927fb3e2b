"""Objects on a local disk: immutable blob files, and one SQLite index that says what they mean.

`LocalStore.open_root(Path("/data"))` in `store.py` opens one, making it if it is not there; `await store.close()`
lets go of it. Open it after a fork, in the process and on the event loop that use it.
"""
