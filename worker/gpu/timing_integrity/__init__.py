"""What a launcher finds out beside outputs: whether every run did its work, what a GPU can do.

Runs in launchers; `timed_repeat` is what the worker reads of it.
"""
