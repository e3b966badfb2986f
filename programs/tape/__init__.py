"""What a recorded program did, as plain data: read from hostile bytes, judged, and told.

Pure: no torch, no HTTP, no Redis, and nothing of a program is ever executed here.
"""
