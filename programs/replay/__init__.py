# Runs in: worker, child without, launcher
"""Replays a tape's ATen ops and kernels, in a process that never imports a program.

A tape is hostile: its shapes are derived again, and its memory is bounded before any is allocated.
"""
