# Generated from tritonc/_async/__init__.py by `make client`; change that file instead.
"""The client's requests."""
