"""Configurations by which engines reach a warehouse, as text to be put into their files. Pure.

Each says its traps: what a version spells otherwise, and what must not stand beside what.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

REGION = "us-east-1"
SIGNING = "s3tables"

SPARK_JARS: Mapping[str, tuple[str, str, str]] = {
    "4.1": ("iceberg-spark-runtime-4.1_2.13", "1.12.0", "3.4.2"),
    "4.0": ("iceberg-spark-runtime-4.0_2.13", "1.11.0", "3.4.1"),
    "3.5": ("iceberg-spark-runtime-3.5_2.12", "1.12.0", "3.3.4"),
}
"""For each Spark: Iceberg's runtime, its version, and the hadoop-aws that fits the Hadoop inside."""
SPARK = "4.1"

TRINO_SIGV4_SINCE = 471
"""The first Trino that signs, and that has all of the settings that are written here."""
TRINO_SECURITY_SINCE = 477
"""The first Trino that spells SigV4 as a kind of security, and refuses `sigv4-enabled`."""
TRINO_UNSIGNED = frozenset({482})
"""Versions that came without a class that their signer needs, so that every request of theirs fails."""
TRINO_S3_SINCE = 481
"""The first Trino whose S3 file system is `fs.s3.enabled`."""
TRINO = 481


@dataclass(frozen=True, slots=True)
class Access:
    """How a client reaches one warehouse; `name` is what the catalog is to be called there."""

    url: str
    warehouse: str
    access_key: str
    secret_key: str
    session_token: str = ""
    region: str = REGION
    name: str = "lakeshare"

    @property
    def catalog(self) -> str:
        """The URI of the catalog."""
        return f"{self.url}/_iceberg"

    @property
    def is_tls(self) -> bool:
        """Whether the server speaks TLS."""
        return self.url.startswith("https://")


def pyiceberg(access: Access) -> str:
    """Write the Python that loads the catalog in PyIceberg."""
    properties = {
        "type": "rest",
        "uri": access.catalog,
        "warehouse": access.warehouse,
        "rest.sigv4-enabled": "true",
        "rest.signing-name": SIGNING,
        "rest.signing-region": access.region,
        "s3.endpoint": access.url,
        "s3.region": access.region,
        "s3.access-key-id": access.access_key,
        "s3.secret-access-key": access.secret_key,
        "client.access-key-id": access.access_key,
        "client.secret-access-key": access.secret_key,
    }
    if access.session_token:
        properties |= {"s3.session-token": access.session_token, "client.session-token": access.session_token}
    lines = [f"        {json.dumps(key)}: {json.dumps(value)}," for key, value in properties.items()]
    return "\n".join(
        [
            "# pip install 'pyiceberg[pyarrow]' boto3",
            "from pyiceberg.catalog import load_catalog",
            "",
            "catalog = load_catalog(",
            f"    {json.dumps(access.name)},",
            "    **{",
            *lines,
            "    },",
            ")",
        ]
    )


def spark_properties(access: Access, version: str = SPARK) -> dict[str, str]:
    """Return Spark's settings by name."""
    runtime, iceberg, hadoop = SPARK_JARS[version]
    jars = (
        f"org.apache.iceberg:{runtime}:{iceberg}",
        f"org.apache.iceberg:iceberg-aws-bundle:{iceberg}",
        f"org.apache.hadoop:hadoop-aws:{hadoop}",
    )
    catalog = {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "rest",
        ".uri": access.catalog,
        ".warehouse": access.warehouse,
        ".rest.auth.type": "sigv4",
        ".rest.signing-name": SIGNING,
        ".rest.signing-region": access.region,
        ".rest.access-key-id": access.access_key,
        ".rest.secret-access-key": access.secret_key,
        ".io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        ".client.region": access.region,
        ".s3.endpoint": access.url,
        ".s3.path-style-access": "true",
        ".s3.access-key-id": access.access_key,
        ".s3.secret-access-key": access.secret_key,
    }
    s3a = {
        "endpoint": access.url,
        "endpoint.region": access.region,
        "access.key": access.access_key,
        "secret.key": access.secret_key,
        "path.style.access": "true",
        "connection.ssl.enabled": "true" if access.is_tls else "false",
    }
    if access.session_token:
        catalog |= {".rest.session-token": access.session_token, ".s3.session-token": access.session_token}
        s3a |= {
            "session.token": access.session_token,
            "aws.credentials.provider": "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider",
        }
    return {
        "spark.jars.packages": ",".join(jars),
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        **{f"spark.sql.catalog.{access.name}{key}": value for key, value in catalog.items()},
        **{f"spark.hadoop.fs.s3a.{key}": value for key, value in s3a.items()},
    }


def spark(access: Access, version: str = SPARK) -> str:
    """Write Spark's settings as a file of properties."""
    lines = [f"{key} {_escaped(value)}" for key, value in spark_properties(access, version).items()]
    return "\n".join(
        [
            f"# Spark {version}: spark-sql --properties-file THIS_FILE, or into conf/spark-defaults.conf.",
            "# They count when a session starts: spark.conf.set() in one that runs is too late.",
            "# Set no catalog-impl beside type: Iceberg refuses the pair.",
            *lines,
        ]
    )


def trino(access: Access, version: int = TRINO) -> str:
    """Write Trino's catalog as a file of properties."""
    s3 = ["fs.s3.enabled=true"]
    if version < TRINO_S3_SINCE:
        s3 = ["fs.hadoop.enabled=false", "fs.native-s3.enabled=true"]
    return "\n".join(
        [
            f"# Trino {version}: etc/catalog/{access.name}.properties. {TRINO_SIGV4_SINCE} is the first that signs.",
            f"# Before {TRINO_SECURITY_SINCE} SigV4 is sigv4-enabled=true, from then on security=SIGV4.",
            f"# Before {TRINO_S3_SINCE} S3 is fs.native-s3.enabled=true, from then on fs.s3.enabled=true.",
            "connector.name=iceberg",
            "iceberg.catalog.type=rest",
            f"iceberg.rest-catalog.uri={access.catalog}",
            f"iceberg.rest-catalog.warehouse={access.warehouse}",
            *_trino_security(access, version),
            "iceberg.rest-catalog.vended-credentials-enabled=true",
            "iceberg.rest-catalog.view-endpoints-enabled=true",
            "iceberg.rest-catalog.nested-namespace-enabled=true",
            "iceberg.unique-table-location=true",
            *s3,
            f"s3.endpoint={access.url}",
            "s3.path-style-access=true",
            f"s3.region={access.region}",
            f"s3.aws-access-key={_escaped(access.access_key)}",
            f"s3.aws-secret-key={_escaped(access.secret_key)}",
        ]
    )


def _trino_security(access: Access, version: int) -> list[str]:
    if version in TRINO_UNSIGNED:
        return [
            f"# Trino {version} fails when it signs, so it is told to ask for a token.",
            "iceberg.rest-catalog.security=OAUTH2",
            f"iceberg.rest-catalog.oauth2.credential={_escaped(access.access_key)}:{_escaped(access.secret_key)}",
            f"iceberg.rest-catalog.oauth2.server-uri={access.catalog}/v1/oauth/tokens",
        ]
    signs = "security=SIGV4" if version >= TRINO_SECURITY_SINCE else "sigv4-enabled=true"
    return [f"iceberg.rest-catalog.{signs}", f"iceberg.rest-catalog.signing-name={SIGNING}"]


def duckdb(access: Access) -> str:
    """Write the SQL that attaches the warehouse in DuckDB: by OAuth, since its SigV4 is for hosts of AWS alone."""
    return "\n".join(
        [
            "-- DuckDB 1.4 or newer. The server answers for tokens; keys for the data come with each table.",
            "INSTALL httpfs; INSTALL iceberg; LOAD httpfs; LOAD iceberg;",
            f"CREATE OR REPLACE SECRET {access.name} (",
            "    TYPE iceberg,",
            f"    CLIENT_ID {_quoted(access.access_key)},",
            f"    CLIENT_SECRET {_quoted(access.secret_key)},",
            f"    OAUTH2_SERVER_URI {_quoted(access.catalog + '/v1/oauth/tokens')}",
            ");",
            f"ATTACH {_quoted(access.warehouse)} AS {access.name} (",
            "    TYPE iceberg,",
            f"    ENDPOINT {_quoted(access.catalog)},",
            f"    SECRET {access.name}",
            ");",
        ]
    )


def _escaped(text: str) -> str:
    """Write a value as Java's files of properties have it."""
    return text.replace("\\", "\\\\")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
