"""The walls around one child.

What each profile may do, and how that is made irrevocable before any job is read.
"""
