# Runs in: worker
"""Generates further cases of one launch from its request and a seed. Runs nothing.

Generates only cases that the request shows to be legal. Anything uncertain keeps its value, and the
plan gives the reason.
"""
