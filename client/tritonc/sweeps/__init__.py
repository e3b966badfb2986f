"""Sweeps: what is posted, and the table that comes back."""
