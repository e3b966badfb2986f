# Runs in: child with user code, child without
"""The runtime of a kernel's text: NumPy only. Its functions are copied into the text."""
