"""A gate for CI: kernels compiled for many targets and Tritons, and held to budgets."""
