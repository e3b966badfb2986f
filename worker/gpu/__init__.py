"""GPUs: the processes that hold one, and the worker's hold on them.

No user Python ever runs here.
"""
