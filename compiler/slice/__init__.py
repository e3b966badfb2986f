"""The slice: what of a source can matter to its kernel, found from its syntax tree alone.

Nothing here executes or imports what a user wrote. Standard library only, without Triton.
"""
