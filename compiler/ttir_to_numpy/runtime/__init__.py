"""What the text of a kernel stands on: NumPy only. Its functions go into the text as they are."""
