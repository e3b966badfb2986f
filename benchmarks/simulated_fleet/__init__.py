"""A fleet of 200 simulated workers on a real Valkey, in virtual time; `__main__` runs it."""
