# Runs in: worker
"""Runs the cases that fuzzing makes of a launch, and judges them."""
