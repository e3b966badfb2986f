# Runs in: worker, child with user code
"""Records a program by running it on fake tensors, only in children that exist for that."""
