"""What the catalog does, a file for each noun."""
