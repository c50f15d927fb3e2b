"""Values of the S3 room and the rules about each: no I/O, no clock, no header."""
