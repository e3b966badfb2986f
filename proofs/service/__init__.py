# Runs in: service
"""Proofs over HTTP."""
