"""Launches, from a claimed job to its record: who runs what, and what it amounts to."""
