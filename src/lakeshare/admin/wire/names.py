"""The shapes of names, secrets and times, which many bodies have."""

from lakeshare.admin.wire.shapes import Many, Maybe, Text, Whole

LATEST = 253_402_300_799
"""The last second of the year 9999."""

USER = Text(64, 3, r"[A-Za-z0-9][A-Za-z0-9._@+\-]{2,63}", "3 to 64 letters, digits and . _ @ + -")
PLAIN = Text(128, 1, r"[A-Za-z0-9][A-Za-z0-9._@+\-]{0,127}", "1 to 128 letters, digits and . _ @ + -")
SECRET = Text(128, 8, r"[!-~]{8,128}", "8 to 128 printable ASCII characters without spaces", secret=True)
SHORT = Text(256, 0, r"[ -~]*", "printable ASCII")
ANY = Text(2**20)
TIME = Whole(0, LATEST)
MAYBE_TIME = Maybe(TIME)
NAMES = Many(PLAIN, 100_000)
COUNT = Whole(0, 2**63 - 1)
