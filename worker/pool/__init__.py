# Runs in: worker, child with user code, child without, launcher
"""Zygotes and their sandboxed children: start one, give it a task, read its result, reap it.

Start here: `pool.py` runs one task in one child, as the worker sees it.

1. `zygote_client.py` starts a zygote (`zygote.py`) with an empty environment. The zygote imports
   Triton once and forks a child for every order.
2. `child.py` enters the sandbox before it reads its job, runs the task, and writes frames
   (`frame.py`).
3. `child_process.py` is the worker's side: deadline, pipes and death.
4. `child_protocol.py` checks the frames, and `child_outcome.py` describes how the child ended.

`spares.py` keeps warm children ready, and those that a session holds. `session.py` keeps children
for one launch alone. `shared_bytes.py` passes large inputs as sealed memory.
"""
