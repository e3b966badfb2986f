"""How a compilation is made, inside zygotes and their children.

Standard library and Triton only.
"""
