# Runs in: service, worker, child with user code, child without, launcher
"""The definition of a launch and its judgement. No HTTP, no Redis, no CUDA."""
