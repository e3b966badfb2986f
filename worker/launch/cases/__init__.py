# Runs in: worker
"""The cases of a launch: each from its arguments to its verdict, several at a time on a GPU."""
