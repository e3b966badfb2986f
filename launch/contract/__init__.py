# Runs in: service, worker, child without
"""Contracts of kernels: their text, and what launches let one guess.

A contract lists what every launch satisfies: how large buffers are, how sizes relate, the grid.
"""
