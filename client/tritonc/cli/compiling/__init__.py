# Runs in: client
"""`tritonc compile` and `tritonc watch`: compile files for targets and write stages to files."""
