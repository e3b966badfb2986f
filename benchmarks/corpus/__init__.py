"""Real kernels of packages on PyPI, compiled directly and over HTTP, and compared."""
