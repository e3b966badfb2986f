"""GPUs: the processes that hold one, and the worker's control of them.

User Python never runs in a process that holds a GPU, and the worker itself never imports CUDA.

Start here: `supervisor/gpu.py` is one GPU as the worker uses it, one job at a time.

1. `supervisor/launcher_pool.py` has a launcher process for each caller, and spares.
2. `launcher/launcher.py` is that process, in the sandbox of `launcher/launcher_sandbox.py`.
3. `launcher/device_run.py` runs one launch: guarded buffers, runs, memory checks, timing.
4. `timing_integrity/` checks that every timed run did its work.
5. `supervisor/launcher_protocol.py` turns the launcher's frames into an outcome.

`tools/` runs a kernel under compute-sanitizer or ncu. `programs/gpu/` replays tapes.
"""
