# Runs in: client
"""Programs, which launch kernels: their requests and answers."""
