# Runs in: client
"""Python packages on this machine: a kernel's file as a module, and the modules that it needs."""
