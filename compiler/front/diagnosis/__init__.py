"""What user code and Triton's front end raised, as diagnostics at the user's own lines."""
