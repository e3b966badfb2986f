"""Programs, which launch kernels: their requests and answers."""
