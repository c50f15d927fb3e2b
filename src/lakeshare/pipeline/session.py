"""A Spark session for one server: Java and jars found or fetched, settings in a private file, the log in another."""

import importlib.util
import logging
import os
import re
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from lakeshare.pipeline import conf
from lakeshare.pipeline.connection import Connection
from lakeshare.pipeline.errors import Misused, NoSpark
from lakeshare.pipeline.jars import jars
from lakeshare.pipeline.java import find_java, is_of_wheel
from lakeshare.pipeline.progress import SILENT, Told
from lakeshare.pipeline.trust import machine_bundle, write_trust

LOG_NAME = "spark.log"
STOP_SECONDS = 30
_LOG_CHARACTERS = 400
_ERROR = re.compile(r"Exception|Error\b|ERROR|[Ii]nvalid|[Uu]nrecognized")
_NO_MASTER = "All masters are unresponsive"
"""What Spark writes where a standalone master cannot be reached."""


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder for what is fetched once."""
    if chosen := environ.get("LAKESHARE_CACHE"):
        return Path(chosen)
    home = environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "lakeshare"


@contextmanager
def spark_session(
    connection: Connection, wanted: conf.Wanted, environ: Mapping[str, str] = os.environ, told: Told = SILENT
) -> Iterator[Any]:
    """Yield a session that reaches the server, and end its JVM afterwards."""
    if importlib.util.find_spec("pyspark") is None:
        raise NoSpark(
            "PySpark is not installed", "Install it: pip install 'lakeshare[spark]', or scripts/setup --spark"
        )
    cache = cache_folder(environ)
    java = find_java(cache, environ)
    found = jars(cache, java, environ, told)
    told.step("starting Spark")
    with tempfile.TemporaryDirectory(prefix="lakeshare-spark-") as folder:
        work = Path(folder)
        chosen = conf.settings(connection, wanted, found, work)
        chosen = conf.with_java_options(chosen, _trust(connection, java, work, environ))
        log = cache / LOG_NAME
        with _gateway(chosen, java, work, log) as gateway:
            yield from _session(gateway, log)


def _session(gateway: Any, log: Path) -> Iterator[Any]:
    from py4j.protocol import Py4JError  # noqa: PLC0415 - pyspark is an extra
    from pyspark import SparkContext  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    # What these would print is raised as well.
    logging.getLogger("DataFrameQueryContextLogger").disabled = True
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_told_elsewhere)
    before = signal.getsignal(signal.SIGINT)
    try:
        # A master that does not answer ends the context while the session is made.
        session = SparkSession(SparkContext(gateway=gateway))
    except Py4JError as reason:
        raise _not_started(log) from reason
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)  # PySpark's handler asks Java in the middle of an answer of Java's.
    try:
        yield session
    finally:
        with suppress(Py4JError, OSError):  # A JVM that is gone has nothing to stop.
            session.stop()
        logging.getLogger().removeFilter(_is_told_elsewhere)


def _is_told_elsewhere(record: logging.LogRecord) -> bool:
    """Keep from the root's log what py4j writes there of an error that it raises."""
    return "while sending command" not in str(record.msg)


@contextmanager
def _gateway(chosen: Mapping[str, str], java: Path, work: Path, log: Path) -> Iterator[Any]:
    """Start a JVM whose settings come from a file, whose words go to a log, and which ends with the block."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - pyspark is an extra
    from pyspark import SparkContext  # noqa: PLC0415
    from pyspark.errors import PySparkRuntimeError  # noqa: PLC0415
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415

    if SparkContext._active_spark_context is not None:  # noqa: SLF001 - there is no public word for it
        raise Misused("another Spark session runs in this process", "End it first: a process has one.")
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - a session that ended may have left its JVM
    arguments = _private_file(work / "spark.properties", conf.properties(chosen))
    with (
        os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out,
        _environment(conf.launcher_variables(chosen, java, arguments)),
    ):
        try:
            gateway = launch_gateway(popen_kwargs={"stdout": out, "stderr": out})
        except PySparkRuntimeError as reason:
            raise _not_started(log) from reason
    try:
        yield gateway
    finally:
        SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - so that the next session gets a JVM of its own
        with suppress(Py4JError, OSError):
            gateway.shutdown()
            gateway.proc.stdin.close()
        try:
            gateway.proc.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            gateway.proc.kill()
            gateway.proc.wait()


def _private_file(path: Path, text: str) -> str:
    """Write what only its owner may read, and return the words that lead spark-submit to it."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    return f"--properties-file {shlex.quote(str(path))} --load-spark-defaults pyspark-shell"


@contextmanager
def _environment(ours: Mapping[str, str]) -> Iterator[None]:
    """Set, while the JVM starts, the variables that PySpark's launcher reads."""
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


def _trust(connection: Connection, java: Path, work: Path, environ: Mapping[str, str]) -> list[str]:
    """Return the words that tell Java whom to trust, where it is to be told."""
    if connection.ca_file:
        return write_trust(Path(connection.ca_file), work)
    bundle = machine_bundle(environ) if connection.is_encrypted and is_of_wheel(java) else None
    return write_trust(bundle, work) if bundle else []


def _not_started(log: Path) -> NoSpark:
    text = log.read_text(errors="replace")
    if _NO_MASTER in text:
        return NoSpark(
            "Spark's master does not answer, or gave no executor",
            f"Look at --master, and whether that cluster runs. Spark's log is {log}.",
        )
    return NoSpark(
        f"Spark did not start: {_cause(text)}", f"Look at --master, --driver-memory and --conf. Spark's log is {log}."
    )


def _cause(text: str) -> str:
    """Return the lines of a log that say why: the first two that name an error, or the last there is."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    named = [line for line in lines if _ERROR.search(line)]
    return " ".join(named[:2] or lines[-1:] or ["it said nothing"])[:_LOG_CHARACTERS]
