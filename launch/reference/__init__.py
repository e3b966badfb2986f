"""References and comparisons: what a kernel's outputs should be, and how far they are from it."""
