"""Values as both sides of a comparison write them, whichever library read them."""

from collections.abc import Iterable
from datetime import datetime

import pandas as pd


def row(values: Iterable[object]) -> str:
    """Write a row."""
    return repr([cell(each) for each in values])


def cell(value: object) -> object:
    """Write a value: structs by the names of their fields, whole floats as integers, moments in UTC."""
    if isinstance(value, dict):
        return sorted((str(key), cell(each)) for key, each in value.items())
    if hasattr(value, "tolist") and not isinstance(value, str | bytes):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [cell(each) for each in value]
    if value is None or (isinstance(value, float) and pd.isna(value)) or value is pd.NaT:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, datetime):
        value = pd.Timestamp(value)
        return str(value.tz_convert("UTC").tz_localize(None) if value.tz is not None else value)
    return str(value)
