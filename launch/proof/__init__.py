# Runs in: worker, child without
"""The task that proves a kernel, and replays on the CPU device what the proof calls broken.

Runs in a child of its own kind: it reads untrusted IR, and runs none but as NumPy, with memory that
is only counted. `compiler.proof` has the method.
"""
