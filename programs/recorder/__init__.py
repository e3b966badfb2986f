"""Runs a user's program under fake tensors and says what it did; only in children for that."""
