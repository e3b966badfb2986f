"""Runs the same launches on the CPU device and on a GPU, and compares the results."""
