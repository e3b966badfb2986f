# Runs in: worker, child without
"""The task that proves a kernel, and replays on the CPU device what the proof calls broken.

Runs in its own kind of child: it reads untrusted IR, and runs it only as NumPy, with memory that
is only counted. `compiler.proof` has the method.
"""
