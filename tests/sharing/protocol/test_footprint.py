"""What a worker loads to answer a recipient."""

from pathlib import Path

import pyarrow as pa
import pytest

from tests.sharing.protocol.provider import Provider, files_of


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="processes are looked at by way of /proc")
def test_pandas_is_not_loaded(provider: Provider) -> None:
    """A worker that opened a table has not loaded pandas, which pyarrow would wherever it is installed."""
    provider.write("footprint", pa.table({"id": [1, 2]}))
    provider.share("footprint", t="footprint")
    recipient = provider.token("footprint")
    assert len(files_of(recipient.lines("t"))) == 1
    supervisor = provider.server.process.pid
    workers = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
    assert workers
    assert not [pid for pid in workers if "/pandas/" in Path(f"/proc/{pid}/maps").read_text()]
