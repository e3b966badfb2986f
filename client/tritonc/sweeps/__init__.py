# Runs in: client
"""Sweeps: their requests, and the resulting tables."""
