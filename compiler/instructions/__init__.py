# Runs in: child with user code
"""The instructions of a kernel: counted by class, by opcode, and by line of the source.

Pure text, standard library only.
"""
