# Runs in: client
"""A gate for CI: compiles kernels for many targets and Tritons, and checks budgets."""
