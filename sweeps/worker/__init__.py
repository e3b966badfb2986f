# Runs in: worker
"""The driver of sweeps: submits their compilations and launches, and writes what came of them."""
