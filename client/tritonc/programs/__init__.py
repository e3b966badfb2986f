"""Programs: what launches kernels, as it is posted and as it is answered."""
