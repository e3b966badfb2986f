# Runs in: worker
"""Programs on GPUs: the consumer of a GPU, the launcher's orders, and its checked reports."""
