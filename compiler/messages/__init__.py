# Runs in: service, worker, child with user code, child without, launcher
"""Messages between a worker and its children about compilations.

Standard library only: children run under the Python of any toolchain.
"""
