"""Proofs over HTTP."""
