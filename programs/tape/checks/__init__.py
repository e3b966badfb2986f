"""What follows from the ops of a tape, held against what the tape says: shapes, views, arguments.

The tape was written beside a program's own code. Pure, as the rest of the tape is.
"""
