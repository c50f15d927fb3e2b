"""The settings of a session, for each kind of server and key."""

from pathlib import Path

from lakeshare.pipeline.conf import Wanted, launcher_variables, properties, settings, with_java_options
from lakeshare.pipeline.connection import Connection
from lakeshare.settings import Secret

PLAIN = Connection("http://127.0.0.1:9000", "KEY", Secret("SECRET"))


def found(connection: Connection = PLAIN, wanted: Wanted | None = None) -> dict[str, str]:
    return settings(connection, wanted or Wanted(), [Path("/jars/a.jar"), Path("/jars/b.jar")], Path("/work"))


def test_objects_are_reached_as_the_alias_says():
    """S3A gets the endpoint, the key and path-style addresses; TLS follows the scheme."""
    told = found()
    assert told["spark.hadoop.fs.s3a.endpoint"] == "http://127.0.0.1:9000"
    assert told["spark.hadoop.fs.s3a.secret.key"] == "SECRET"
    assert told["spark.hadoop.fs.s3a.path.style.access"] == "true"
    assert told["spark.hadoop.fs.s3a.connection.ssl.enabled"] == "false"
    assert told["spark.jars"] == "/jars/a.jar,/jars/b.jar"
    secure = found(Connection("https://lake.example.net", "KEY", Secret("SECRET"), ca_file="/ca.pem"))
    assert secure["spark.hadoop.fs.s3a.connection.ssl.enabled"] == "true"


def test_further_options_of_java_stand_beside_those_that_were_chosen():
    """Whom to trust is told to Java without taking away what --conf says."""
    told = with_java_options(found(wanted=Wanted(more={"spark.driver.extraJavaOptions": "-Xss4m"})), ["-Da=b"])
    assert told["spark.driver.extraJavaOptions"] == "-Da=b -Xss4m"
    assert told["spark.executor.extraJavaOptions"] == "-Da=b"
    assert with_java_options({"x": "y"}, []) == {"x": "y"}


def test_the_catalog_is_there_where_a_warehouse_is_named():
    """Iceberg's catalog is signed for and never has both `type` and `catalog-impl`."""
    assert not any(name.startswith("spark.sql.catalog.lakeshare") for name in found())
    told = found(wanted=Wanted(warehouse="testice"))
    catalog = "spark.sql.catalog.lakeshare"
    assert told[f"{catalog}.uri"] == "http://127.0.0.1:9000/_iceberg"
    assert (told[f"{catalog}.warehouse"], told[f"{catalog}.rest.auth.type"]) == ("testice", "sigv4")
    assert told[f"{catalog}.type"] == "rest"
    assert f"{catalog}.catalog-impl" not in told


def test_temporary_keys_carry_their_token():
    """A session token reaches S3A, the catalog's signer and Iceberg's own files."""
    temporary = Connection("http://h", "KEY", Secret("SECRET"), Secret("TOKEN"))
    told = found(temporary, Wanted(warehouse="w"))
    assert [name for name, value in told.items() if value == "TOKEN"] == [
        "spark.hadoop.fs.s3a.session.token",
        "spark.sql.catalog.lakeshare.rest.session-token",
        "spark.sql.catalog.lakeshare.s3.session-token",
    ]
    assert "Temporary" in told["spark.hadoop.fs.s3a.aws.credentials.provider"]


def test_a_cluster_keeps_its_own_settings_and_the_user_has_the_last_word():
    """What suits one machine is not said to a cluster, and --conf wins over ours."""
    told = found(wanted=Wanted("spark://host:7077", more={"spark.sql.session.timeZone": "Europe/Berlin"}))
    assert "spark.driver.host" not in told
    assert "spark.sql.shuffle.partitions" not in told
    assert told["spark.sql.session.timeZone"] == "Europe/Berlin"


def test_executors_elsewhere_are_not_told_that_the_driver_is_on_their_machine():
    """A driver that is alone is called localhost; that of a cluster goes by its own name."""
    java = Path("/java")
    assert launcher_variables(found(), java, "a")["SPARK_LOCAL_HOSTNAME"] == "localhost"
    cluster = found(wanted=Wanted("spark://host:7077"))
    assert launcher_variables(cluster, java, "a") == {"JAVA_HOME": "/java", "PYSPARK_SUBMIT_ARGS": "a"}


def test_properties_are_read_by_java_as_they_were_meant():
    """Spaces, separators, backslashes and letters beyond ASCII are escaped."""
    assert properties({"a.b": "c d", "x": "1=2:3#4!5\\6\n\u00e4\U0001f600"}) == (
        "a.b c\\ d\nx 1\\=2\\:3\\#4\\!5\\\\6\\u000a\\u00e4\\ud83d\\ude00\n"
    )
