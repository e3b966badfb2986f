"""Runs what the compiler made of a kernel, in NumPy: many programs at once, every access checked.

No user Python runs here.
"""
