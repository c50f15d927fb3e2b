"""What Iceberg metadata means: documents, and the folds that change them. Pure: no I/O, no clock, no randomness."""
