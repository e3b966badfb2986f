# Runs in: worker, child with user code, child without, launcher
"""The sandbox of one child, applied irrevocably before the child reads its job.

Start here: `profile.py` defines what each kind of child may do, and `apply.py` enforces it.

1. `optional_layers.py` and `namespaces.py` find the namespaces that this machine permits;
   `cgroup.py` bounds all children of a worker together.
2. `worker/pool/child.py` calls `apply.py`, which applies each layer in the only order that works:
   `rlimits.py`, `empty_root.py`, `landlock.py`, `seccomp.py` and others.
3. If a layer fails, the child ends.
4. `selftest.py` tries to break out from inside a child; the worker publishes the result.

`bpf.py` and `syscalls.py` build seccomp's filters. `libc.py` makes the system calls.
"""
