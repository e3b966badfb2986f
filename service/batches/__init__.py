"""Batches: many compilations or launches posted together, each answered as if it had come alone."""
