"""The same launches on the CPU device and on a GPU, and how far both agree."""
