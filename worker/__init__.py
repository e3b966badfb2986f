"""Where untrusted things run: pools of sandboxed, single-use processes, and what feeds them."""
