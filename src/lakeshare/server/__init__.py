"""The composition root: how one request flows, and the workers that carry it."""
