# Runs in: child without
"""A second reading of a proved kernel: its TTIR as z3 bit-vectors, exactly as a machine computes.

It looks for sizes that contradict what was proved. It shares no code with `compiler.proof` and
`compiler.ttir_to_numpy`, so that a mistake of theirs is not repeated here.
"""
