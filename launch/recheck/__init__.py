# Runs in: worker, child without
"""Re-checks of answers that the prover calls `proved`, in children that share no code with it.

A re-check never proves anything: it looks for launches that keep a contract and break what was
proved. `recheck_messages` has the order and the report of both re-checks, by running the kernel and
by bit-vectors. Nothing here may import `compiler.proof` or `launch.proof`.
"""
