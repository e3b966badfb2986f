# Runs in: service
"""Compiler Explorer's API on top of our API, so that its editor plug-ins work here."""
