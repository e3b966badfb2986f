# Runs in: child with user code
"""Turns exceptions of user code and Triton's front end into diagnostics at the user's lines."""
