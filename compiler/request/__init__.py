"""A compilation as it is asked for: read, measured, and resolved against a toolchain."""
