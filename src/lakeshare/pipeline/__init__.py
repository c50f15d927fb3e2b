"""An island: PySpark jobs that meet the server over S3, its Iceberg catalog and Delta Sharing, and no other way."""
