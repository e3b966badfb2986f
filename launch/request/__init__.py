"""Launch requests, resolved and checked, and the answers.

Nothing here runs a kernel, makes an array or imports Triton.
"""
