# Runs in: worker, launcher
"""Checks that every timed run did its work, and measures what a GPU can do.

Runs in launchers; `timed_iteration` is what the worker reads of it.
"""
