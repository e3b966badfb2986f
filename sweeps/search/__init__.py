"""Which variant of a sweep of launches is fastest: what to run next, and what that says. Pure."""
