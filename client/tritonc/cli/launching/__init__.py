"""`tritonc launch`: a launch as flags and a request file say it, and its report."""
