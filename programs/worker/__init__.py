"""Programs driven: recorded, compiled by ordinary jobs, replayed and judged.

Nothing of a user's program runs in this process; nothing that runs it decides how it ends.
"""
