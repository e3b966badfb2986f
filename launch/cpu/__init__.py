"""Runs compiled IR in NumPy: many programs at once, with every access checked.

No user Python runs here.
"""
