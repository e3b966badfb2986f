"""Batches: compilations, launches or programs posted together, each as if it had come alone."""
