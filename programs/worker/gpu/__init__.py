"""Programs on GPUs: the queue of a GPU, what its launcher is told, and what that answers."""
