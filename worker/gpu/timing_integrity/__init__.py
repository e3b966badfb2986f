"""Checks that every timed run did its work, and measures what a GPU can do.

Runs in launchers; `timed_repeat` is what the worker reads of it.
"""
