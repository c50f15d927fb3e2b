"""Bytes in, Arrow out: the one engine that reads Parquet, Avro and JSON logs."""
