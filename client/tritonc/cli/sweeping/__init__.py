# Runs in: client
"""`tritonc sweep`: parses axes from flags and shows the table."""
