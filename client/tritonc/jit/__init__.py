# Runs in: client
"""Jit functions of this process: their sources and modules, and how to launch them."""
