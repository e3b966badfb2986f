# Runs in: worker
"""The worker's part of programs: has them recorded, compiled and replayed, and judges them.

No user code runs in this process, and no process that runs user code decides a verdict.
"""
