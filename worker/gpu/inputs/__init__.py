# Runs in: launcher
"""First contents of buffers that the GPU makes itself, where they are bit for bit the host's."""
