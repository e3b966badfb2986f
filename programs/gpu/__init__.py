# Runs in: worker, launcher
"""The program launcher: the process that holds a GPU and replays tapes on it.

It imports torch, NumPy and cuda-bindings, and never runs a program's Python.
"""
