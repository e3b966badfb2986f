# Runs in: service, worker
"""Jobs as the service and the workers share them, whatever the work is.

`store.jobs` moves bytes between them. Here those bytes get a meaning (`kind.py`). The kinds of
the core are in `core_kinds.py`; a feature has its own.
"""
