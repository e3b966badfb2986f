"""Zygotes and their sandboxed children: started, given one task, read, and reaped."""
