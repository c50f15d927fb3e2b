"""What each S3 verb does, on values."""
