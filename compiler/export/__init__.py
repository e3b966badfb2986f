# Runs in: child with user code
"""Exports: a compiled kernel as one file that launches it without this service.

Pure text from the record and its artifacts; standard library only.
"""
