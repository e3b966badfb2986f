# Runs in: worker
"""Launches on the GPUs of this machine, from a claimed job to their outcome. Never imports CUDA.

Start here: `gpu_consumer.py` takes the jobs of one GPU, and `gpu_run.py` does each run.

1. `gpu_run.py` submits a compile job for the kernel, unless `compiled_kernels.py` has its cubin.
2. `gpu_outcome.py` makes the launcher's order. `worker/gpu/supervisor` sends it.
3. `gpu_outcome.py` turns the launcher's report into findings and timings.
4. `timed_iterations.py` compares timed runs with the reference. `gpu_run.py` rejects times
   that the hardware cannot reach; `iteration_findings.py` explains runs that differ.
5. `tool_reruns.py` repeats a run under compute-sanitizer or ncu; `profile_lines.py` maps a profile
   to source lines.
"""
