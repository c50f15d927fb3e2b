"""The values of the catalog, and the rules about one value."""
