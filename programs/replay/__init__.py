"""Runs what a tape says, in a process that never imports a program: torch's ATen, and the kernels.

A tape is hostile: what it says is derived again, and its memory bounded before it is taken.
"""
