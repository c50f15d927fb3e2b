"""S3 as it crosses the wire: decoding heads, encoding answers."""
