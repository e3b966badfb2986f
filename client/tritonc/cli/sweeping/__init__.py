"""`tritonc sweep`: axes as flags say them, and the table."""
