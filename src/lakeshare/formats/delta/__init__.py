"""What the files of a Delta table mean."""
