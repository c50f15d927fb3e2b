"""Moving bytes: what goes where, and how it gets there whole."""
