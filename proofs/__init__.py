# Runs in: service, worker
"""Proofs: a kernel's accesses, for all sizes that keep a contract. A feature with its own jobs.

`service/` reads a request, infers a contract from cases where none is given, and queues a job.
`worker/` compiles the kernel to TTIR by an ordinary job, has a sandboxed child prove it
(`launch.proof`), and keeps what it found by TTIR, contract and version.
"""
