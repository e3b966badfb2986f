"""What a sweep is: one base, a space of variants, and one row for each.

Pure: no HTTP, no Redis, no processes.
"""
