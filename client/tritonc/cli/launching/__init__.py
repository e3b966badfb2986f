# Runs in: client
"""`tritonc launch`: runs a launch given by flags and a request file, and reports it."""
