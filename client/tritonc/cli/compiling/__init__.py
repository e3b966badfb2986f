"""`tritonc compile` and `tritonc watch`: files and targets, stages to files, what is missing."""
