"""What is checked while a kernel runs: accesses, races, and the findings that come of them.

NumPy only; whatever runs the kernel calls these.
"""
