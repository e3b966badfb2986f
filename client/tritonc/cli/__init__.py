# Runs in: client
"""The command `tritonc`. It uses the public client, like any other program."""
