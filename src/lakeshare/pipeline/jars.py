"""The jars that Spark needs besides its own, each pinned by its hash, and how they come to this machine.

They are few and small on purpose (129 MB where everything that they name would be 832): S3A runs on the AWS SDK
inside iceberg-aws-bundle, with the three parts of it that the bundle lacks. Ivy, which PySpark brings, fetches exactly
these; so a mirror is a matter of Ivy's settings, and a machine without a network is given the folder.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from lakeshare.pipeline.errors import NoSpark
from lakeshare.pipeline.java import is_of_wheel
from lakeshare.pipeline.progress import SILENT, Told
from lakeshare.pipeline.trust import machine_bundle, write_trust

FOLDER = "spark-jars"
IVY_SETTINGS = "LAKESHARE_IVY_SETTINGS"
"""The variable that names a file of Ivy's settings, for a mirror."""
FETCH_SECONDS = 900
_CHUNK_BYTES = 1024**2
_LOG_CHARACTERS = 700


@dataclass(frozen=True, slots=True)
class Jar:
    """A file of the Maven repository."""

    organisation: str
    name: str
    version: str
    size_bytes: int
    sha256: str

    @property
    def file(self) -> str:
        """Its name on the disk."""
        return f"{self.name}-{self.version}.jar"


_ICEBERG, _DELTA, _AWS_SDK = "1.12.0", "4.4.0", "2.54.17"

JARS = (
    Jar(
        "org.apache.iceberg", "iceberg-spark-runtime-4.1_2.13", _ICEBERG, 48309426,
        "3123c3798af642dd537230923548e013ef41cc28b6626e5225808cf5670a0f82",
    ),
    Jar(
        "org.apache.iceberg", "iceberg-aws-bundle", _ICEBERG, 69034612,
        "dd7e49ffa4ac9b215bed846581991259e3aec9bb2fa08d6cec029c46cd66d957",
    ),
    Jar(
        "io.delta", "delta-spark_4.1_2.13", _DELTA, 9471929,
        "75a9400986853c061f5109f012547de2545a5759e5e752e5ef633dabe16a4f10",
    ),
    Jar(
        "io.delta", "delta-storage", _DELTA, 113863,
        "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
    ),
    Jar(
        "org.apache.hadoop", "hadoop-aws", "3.4.2", 936997,
        "d2d24e6b715b5656b9d238bf13b6682a07e2004dd36aad74a73aeb854319f4d9",
    ),
    Jar(
        "software.amazon.awssdk", "s3-transfer-manager", _AWS_SDK, 282942,
        "7bef0ea4efd5e0860bab63e08317040951edb51b72a5be734284c28b8324ab87",
    ),
    Jar(
        "software.amazon.awssdk", "apache-client", _AWS_SDK, 77826,
        "0b00ae3d55c3d1213ca47b5651dc4c2a0080fc9b6192dde3d53c3da6c1811bcb",
    ),
    Jar(
        "software.amazon.awssdk", "netty-nio-client", _AWS_SDK, 308076,
        "4faaae2db7a602c2ae6241fc6c0fe9d55f0e46886c3713cd5d2fef2f677ea64a",
    ),
)  # fmt: skip
TOTAL_BYTES = sum(jar.size_bytes for jar in JARS)


def jars(cache: Path, java: Path, environ: Mapping[str, str] = os.environ, told: Told = SILENT) -> list[Path]:
    """Return every jar, fetched first where one is missing."""
    folder = cache / FOLDER
    missing = [jar for jar in JARS if not is_there(folder / jar.file, jar)]
    if missing:
        _fetch(missing, folder, java, environ, told)
    return [folder / jar.file for jar in JARS]


def is_there(path: Path, jar: Jar) -> bool:
    """Say whether a jar lies here: it was checked against its hash when it was put here, and has its size still."""
    try:
        return path.stat().st_size == jar.size_bytes
    except OSError:
        return False


def is_sound(path: Path, jar: Jar) -> bool:
    """Say whether a file is the jar, to the byte."""
    if not is_there(path, jar):
        return False
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest() == jar.sha256


def _fetch(missing: list[Jar], folder: Path, java: Path, environ: Mapping[str, str], told: Told) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    total = sum(jar.size_bytes for jar in missing)
    told.step(f"fetching {len(missing)} jars for Spark, {total / 1e6:.0f} MB, into {folder}")
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetching-") as work:
        log = _run_ivy(missing, Path(work), java, environ, told)
        for jar in missing:
            fetched = Path(work) / "jars" / jar.file
            if not is_sound(fetched, jar):
                raise _not_fetched(jar, fetched, log)
            shutil.move(fetched, folder / jar.file)


def _run_ivy(missing: list[Jar], work: Path, java: Path, environ: Mapping[str, str], told: Told) -> str:
    """Let Ivy fetch the jars below a folder, and return what it said."""
    (work / "ivy.xml").write_text(_module(missing))
    bundle = machine_bundle(environ) if is_of_wheel(java) else None
    command = [
        str(java / "bin/java"), *(write_trust(bundle, work) if bundle else []),
        "-cp", _ivy_path(), "org.apache.ivy.Main", "-ivy", str(work / "ivy.xml"),
        "-cache", str(work / "cache"), "-confs", "default", "-types", "jar",
        "-retrieve", str(work / "jars/[artifact]-[revision].[ext]"),
    ]  # fmt: skip
    if settings := environ.get(IVY_SETTINGS):
        command += ["-settings", settings]
    log = work / "ivy.log"
    with log.open("wb") as out, subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out) as ivy:  # noqa: S603
        deadline = time.monotonic() + FETCH_SECONDS
        try:
            while ivy.poll() is None and time.monotonic() < deadline:
                told.at(_size_below(work / "cache"), sum(jar.size_bytes for jar in missing))
                time.sleep(0.2)
        finally:
            ivy.kill()
    return log.read_text(errors="replace")


def _ivy_path() -> str:
    """Return the class path of Ivy's own program, from the jars of PySpark."""
    import pyspark  # noqa: PLC0415 - only who fetches needs it

    own = Path(pyspark.__file__).parent / "jars"
    return os.pathsep.join(str(path) for stem in ("ivy", "commons-cli") for path in sorted(own.glob(f"{stem}-*.jar")))


def _module(missing: list[Jar]) -> str:
    lines = (
        f"<dependency org={quoteattr(jar.organisation)} name={quoteattr(jar.name)} rev={quoteattr(jar.version)} "
        'transitive="false" conf="default->master(default)"/>'
        for jar in missing
    )
    return (
        '<ivy-module version="2.0"><info organisation="lakeshare" module="pipeline"/>'
        f'<configurations><conf name="default"/></configurations><dependencies>{"".join(lines)}'
        "</dependencies></ivy-module>"
    )


def _size_below(folder: Path) -> int:
    total = 0
    for path in folder.glob("**/*.jar*"):
        try:
            total += path.stat().st_size
        except OSError:
            continue  # Ivy renamed it meanwhile.
    return total


def _not_fetched(jar: Jar, path: Path, log: str) -> NoSpark:
    if path.exists():
        return NoSpark(
            f"what was fetched as {jar.file} is not that jar: its size or its hash is another",
            "Something between this machine and the Maven repository changes files. Put the jar into "
            f"{path.parents[2]} by hand.",
        )
    said = "; ".join(line.strip() for line in log.splitlines() if line.strip().strip(".:-|"))[-_LOG_CHARACTERS:]
    return NoSpark(
        f"{jar.file} could not be fetched. Ivy said: {said}",
        f"Without a way to Maven's central repository: set {IVY_SETTINGS} to a file of Ivy's settings that names your "
        f"mirror, or put the jars into {path.parents[2]} by hand; docs/pipeline.md lists them.",
    )
