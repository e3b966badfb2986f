"""What a launch request says, resolved and checked, and what is answered.

Nothing here runs a kernel, makes an array or imports Triton.
"""
