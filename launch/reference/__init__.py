"""References and comparisons: expected outputs, and the differences from them."""
