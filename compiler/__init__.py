"""What a compilation is (the words, in this folder) and how it is made (`making/`).

No HTTP, no Redis.
"""
