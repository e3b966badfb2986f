# Runs in: service, worker, child with user code, child without, launcher
"""The tape: a recorded program as plain data. Reads hostile bytes, finds flags, shows text.

Pure: no torch, no HTTP, no Redis. Nothing here executes a program.
"""
