"""The definition of a launch and its judgement. No HTTP, no Redis, no CUDA."""
