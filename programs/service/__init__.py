# Runs in: service
"""Programs over HTTP: submit, read and cancel them, and read their tapes."""
