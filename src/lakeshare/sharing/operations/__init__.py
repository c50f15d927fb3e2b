"""What is done with shares and recipients: one file a noun or a verb."""
