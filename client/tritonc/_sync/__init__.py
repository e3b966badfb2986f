# Generated from tritonc/_async/__init__.py by `make client`; change that file instead.
# Runs in: client
"""The client's requests."""
