# Runs in: child with user code
"""The front end: executes a source and builds the `source` stage and TTIR of its kernel.

Runs in front children, after which nothing that they report is believed unchecked. Standard library
and Triton only.
"""
