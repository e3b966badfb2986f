# Runs in: service, worker, child with user code, child without, launcher
"""The definition of a compilation (the modules of this folder) and its steps (the folders)."""
