"""Records a program by running it on fake tensors, only in children that exist for that."""
