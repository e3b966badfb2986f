# Runs in: service, worker, child without
"""Launch requests, their resolution and checks, and launch records.

Nothing here runs a kernel, creates an array or imports Triton.
"""
