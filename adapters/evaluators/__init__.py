# Runs in: service
"""APIs of other evaluators for their clients: a thin layer on /v1/programs."""
