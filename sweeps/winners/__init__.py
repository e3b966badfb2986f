# Runs in: service
"""Winners of a sweep as what can be used elsewhere: Triton's configurations, and its caches."""
