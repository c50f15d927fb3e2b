"""Small facts that change together: one ordered map with one verb, an atomic compare-and-swap over several keys."""
