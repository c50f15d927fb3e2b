"""The golden tables read through a share by the delta-sharing package, and by delta-rs from where they lie.

`tests.sharing.protocol.conformance_page` writes `docs/delta-conformance.md` of them.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import delta_sharing
import pandas as pd
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from tests.formats.delta.conformance import tables, unpack
from tests.live import running
from tests.sharing.protocol.cells import row
from tests.sharing.protocol.provider import DELTA, Provider, Recipient

MAX_ROWS = 50_000
"""Larger tables are compared by their number of rows."""
UNLIMITED = {"LAKESHARE_DELTA_SHARING_TOKEN_RATE": "0", "LAKESHARE_DELTA_SHARING_TOTAL_RATE": "0"}
EVERY = {
    "delta-sharing-capabilities": "responseformat=delta;readerfeatures=deletionvectors,columnmapping,timestampntz,"
    "typewidening,typewidening-preview,varianttype,varianttype-preview,variantshredding,variantshredding-preview"
}


@dataclass(frozen=True)
class Outcome:
    """What came of one table through a share."""

    table: str
    verdict: str
    note: str = ""
    files: int | None = None
    rows: int | None = None

    @property
    def good(self) -> bool:
        """Whether rows are the same, or the table is refused by both, or with a reason."""
        return self.verdict != "differs"


def upload(provider: Provider, folder: Path, prefix: str) -> None:
    """Put a table's files into the bucket, as they lie on disk."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.startswith("."):
            provider.put(f"{prefix}/{path.relative_to(folder)}", path.read_bytes())


def examine(provider: Provider, folder: Path, names: list[str], work: Path) -> Iterator[Outcome]:
    """Share every table, and read each both ways."""
    for number, name in enumerate(names):
        upload(provider, folder / name, f"golden/{number}")
        try:
            provider.share(f"golden-{number}", t=f"golden/{number}")
        except AssertionError as refusal:
            yield Outcome(name, "refused", _refusal(str(refusal)))
            continue
        reader = provider.token(f"golden-{number}")
        profile = work / f"{number}.share"
        profile.write_text(json.dumps(reader.profile))
        yield one(reader, folder / name, name, str(profile))


def one(reader: Recipient, root: Path, name: str, profile: str) -> Outcome:
    """Read one table both ways."""
    answer = reader.query("t", EVERY)
    if answer.status_code != 200:
        theirs = "" if _theirs(root) is None else "; delta-rs reads it"
        return Outcome(name, "refused", answer.json()["message"] + theirs)
    files = answer.text.count('{"file":')
    expected = _theirs(root)
    url = f"{profile}#{reader.share}.default.t"
    try:
        found = delta_sharing.load_as_pandas(url, use_delta_format=True)
    except Exception as reason:  # noqa: BLE001 - the client raises many things
        refusal = reader.query("t", DELTA)
        if refusal.status_code != 200:
            return Outcome(name, "refused to this client", refusal.json()["message"], files)
        return Outcome(name, "served, and this client fails", _reason(str(reason)), files)
    if expected is None:
        return Outcome(name, "served, no oracle", "delta-rs cannot read it", files, len(found))
    return _compared(name, found, expected, files)


def _theirs(root: Path) -> pa.Table | None:
    try:
        table = DeltaTable(str(root))
        return pa.table(QueryBuilder().register("t", table).execute("select * from t").read_all())
    except BaseException:  # noqa: BLE001 - delta-rs raises many things, and panics
        return None


def _compared(name: str, found: pd.DataFrame, expected: pa.Table, files: int) -> Outcome:
    if len(found) != expected.num_rows:
        return Outcome(name, "differs", f"{len(found)} rows, not {expected.num_rows}", files, len(found))
    if set(found.columns) != set(expected.column_names):
        return Outcome(name, "differs", f"columns {sorted(found.columns)}", files, len(found))
    if len(found) > MAX_ROWS:
        return Outcome(name, "same count", "", files, len(found))
    columns = sorted(expected.column_names)
    ours = sorted(row(each) for each in found[columns].itertuples(index=False))
    theirs = sorted(row(each[name] for name in columns) for each in expected.to_pylist())
    if ours == theirs:
        return Outcome(name, "same rows", "", files, len(found))
    first = next((pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]), ("", ""))
    return Outcome(name, "differs", f"{first[0][:150]} is not {first[1][:150]}", files, len(found))


def _refusal(text: str) -> str:
    """Say why a table was not to be shared, without what differs from one run to the next."""
    said = json.loads(text[text.index("{") :])["error"]["message"]
    return _reason(said.rpartition(" cannot be shared: ")[2])


def _reason(text: str) -> str:
    return " ".join(text.split())[:200].replace("|", "/")


def everything(work: Path) -> list[Outcome]:
    """Run a server and read every golden table through it."""
    folder = unpack(work / "golden")
    with running(work / "data", environment=UNLIMITED) as server:
        return list(examine(Provider(server, "golden"), folder, tables(folder), work))


def report(found: list[Outcome]) -> str:
    """Write the outcomes as a page."""
    lines = [
        "# Delta tables, read through a share",
        "",
        "## Golden tables",
        "",
        "Each table of delta-io's golden set is shared by a live server and read by the `delta-sharing` package for",
        "Python in the delta format; delta-rs reads it where it lies. `scripts/delta-conformance` writes this page.",
        "",
        "| outcome | tables |",
        "|---|---|",
    ]
    verdicts = sorted({each.verdict for each in found})
    lines += [f"| {verdict} | {sum(each.verdict == verdict for each in found)} |" for verdict in verdicts]
    lines += ["", "| table | outcome | files | rows | note |", "|---|---|---|---|---|"]
    for each in found:
        cells = (f"`{each.table}`", each.verdict, _number(each.files), _number(each.rows), each.note)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _number(value: int | None) -> str:
    return "" if value is None else str(value)
