# Runs in: worker
"""Proofs as a worker does them. Reads no IR: children do."""
