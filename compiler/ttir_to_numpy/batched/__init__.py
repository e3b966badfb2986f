# Runs in: child with user code, child without
"""The run form: every value has a leading axis, of programs that run at once or of 1."""
