"""Compile jobs: which children run, what they report, and the record that comes of it."""
