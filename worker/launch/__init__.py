# Runs in: worker
"""Launches: from a claimed job to its record.

Start here: `do_launch.py` does one job, `cases/cases.py` each of its cases.

1. `cpu_consumer.py` or `gpu/gpu_consumer.py` receives the job.
2. `kernel_source.py` reads the kernel's parameters from its source, in a child.
3. `run_binding.py` binds arguments, infers the specialization and evaluates the grid.
4. `cases/cases.py` has the kernel run: on the CPU by `cpu_device.py`, on a GPU by `gpu/gpu_run.py`.
5. `reference.py` has another child compute the expected outputs, or takes them from a cache.
6. `comparison.py` has a third child compare, and `cases/judgement.py` gives the verdict.

`fuzz/` tries variations of a launch that passed.
"""
