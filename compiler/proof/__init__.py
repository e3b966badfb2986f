# Runs in: service, worker, child without
"""Proofs about a kernel's TTIR for all sizes: accesses in bounds, integers that do not wrap.

`prove` is the way in. `evaluator` reads addresses and masks backwards as polynomials over symbolic
sizes, `obligations` lists what must hold, `linear` proves it, `witness` finds sizes that break it.
Nothing here runs a kernel: who calls something refuted replays it first.
"""
