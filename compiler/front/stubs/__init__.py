# Runs in: child with user code
"""Stand-ins for what user code imports but a compiler need not have: torch, versions, a GPU."""
