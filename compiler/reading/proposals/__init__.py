# Runs in: child with user code
"""Proposes a type for each parameter of a kernel, from its use in the text.

`propose.py` decides; `uses.py` collects what each use implies. `address_roots.py` follows addresses
through local names; `value_kinds.py` finds what an expression computes. `constexpr_values.py`
proposes values. Nothing is executed, and nothing here is a promise: each proposal names its line.
"""
