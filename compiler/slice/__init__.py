"""The slice: the parts of a source that can affect its kernel, found from its syntax tree alone.

Nothing here executes or imports user code. Standard library only, without Triton.
"""
