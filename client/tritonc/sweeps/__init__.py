"""Sweeps: their requests, and the resulting tables."""
