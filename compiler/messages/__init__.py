"""What a worker and its children say to each other about compilations.

Standard library only: children run under the Python of any toolchain.
"""
