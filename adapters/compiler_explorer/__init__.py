"""Compiler Explorer's API shape, so that editor plug-ins made for it work; on our own API."""
