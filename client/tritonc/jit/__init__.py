"""Jit functions of this process: their text and modules, and launches of them."""
