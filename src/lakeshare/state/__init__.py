"""Small facts that change together."""
