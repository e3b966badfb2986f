"""How a compilation is made, inside zygotes and their single-use children.

Standard library and Triton only.
"""
