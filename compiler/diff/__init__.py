# Runs in: child with user code
"""The differences between two compilations: in their texts, instructions and records.

Pure text, standard library only; every text is read in time that its size alone bounds.
"""
