# Runs in: service
"""A source's own autotuner as the variants of a sweep: its configurations, and its heuristics."""
