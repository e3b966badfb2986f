# Runs in: client
"""Compare kernels of two Tritons: changes, their causes, and settings that undo them."""
