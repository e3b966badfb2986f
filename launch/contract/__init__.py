# Runs in: service, worker, child without
"""Contracts of kernels: their text, and what launches let one guess.

A contract says what every launch keeps: how large buffers are, how sizes relate, the grid.
"""
