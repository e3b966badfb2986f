"""What differs between two compilations: in their texts, their instructions, and their records.

Pure text, standard library only; every text is read in time that its size alone bounds.
"""
