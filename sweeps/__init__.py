# Runs in: service, worker
"""Sweeps, whole: one base, a space of variants, and one row for each.

`service` has the routes, and `worker` drives sweeps. The rest is pure: no HTTP, no Redis, no
processes.
"""
