"""Another S3 store, read only: what tables that lie there need to be read in place."""
