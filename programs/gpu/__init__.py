"""The program launcher: the process that holds a GPU and replays the tapes of programs on it.

torch, NumPy and cuda-bindings; never a program's Python.
"""
