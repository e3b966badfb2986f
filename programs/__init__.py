# Runs in: service, worker
"""Programs: PyTorch host code that launches kernels, recorded as a tape, replayed and judged.

To learn how a program is recorded and judged, read the files of steps 2 to 5, then 8 and 10. The
path of a program, from POST to verdict:

1. `service/program_submission.py` checks the request and queues a `ProgramJob`.
2. `worker/do_program.py` does the claimed job: its cases and trials; `_Case` calls the steps 3 to
   8, with the pools and the deadline of `worker/program_attempt.py`.
3. `worker/program_recordings.py` decides what to record: the candidate, the reference, and the
   code that makes inputs. It sends each to a child and checks its answer.
4. In that child, `recorder/record.py` runs the user's Python on torch's fake tensors, without
   data. It writes each ATen op and each launch of a kernel to a tape (JSON).
5. `tape/read_tape.py` reads the tape. User code ran in its writer's process, so it may be forged.
6. `worker/program_kernels.py` has ordinary jobs compile the kernels that the tape launches.
7. `worker/replay_child.py` replays the tape on the CPU device: in another child,
   `replay/replay_tasks.py` runs its ops on real tensors, and never imports user code. On a GPU,
   `worker/gpu/program_replays.py` has the GPU's launcher do the same (`gpu/device_replay.py`).
8. `worker/program_comparison.py` compares both calls with those of the reference, and returns the
   verdict by the rules of `launch/request/verdict.py`.
9. If it passed, `worker/experiments.py` and `worker/value_trial.py` replay it with changes that it
   could not foresee.
10. `worker/program_outcome.py` turns the outcomes of all cases into the record and the receipt.

`program_request.py` is the posted body, `program_record.py` the answer.

`service/` has the routes, `worker/` the job handlers, `gpu/` the launcher's side of a GPU replay.
`recorder/` is the only folder that runs user code. `recorder/`, `replay/` and `gpu/` import torch,
each in processes made for it; the other folders do not.
"""
