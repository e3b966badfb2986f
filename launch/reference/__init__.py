# Runs in: child with user code, child without, launcher
"""References and comparisons: expected outputs, and the differences from them."""
