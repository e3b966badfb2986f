# Runs in: worker, child with user code, child without, launcher
"""Line maps: from the lines of every artifact back to the lines of the user's source.

Pure text, standard library only.
"""
