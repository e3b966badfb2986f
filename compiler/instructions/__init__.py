"""What the instructions of a kernel do: counted by class, by opcode, and by line of the source.

Pure text, standard library only.
"""
