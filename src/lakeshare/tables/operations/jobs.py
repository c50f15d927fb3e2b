"""The ids of jobs, which sort by the time they were made."""

import secrets


def new_job_id(now_ms: int) -> str:
    """Make an id."""
    return f"{now_ms:015d}-{secrets.token_hex(8)}"
