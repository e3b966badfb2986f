# Runs in: worker
"""Compile jobs, inspections and derivations, run in sandboxed children.

Start here: `compile_job.py` handles one claimed job, and `compile.py` runs its children.

1. `compile_consumer.py` hands claimed jobs to their handlers.
2. `compile_job.py` looks in the cache once more, then compiles.
3. `child_task.py` has a child parse the source and choose its kernel.
4. `compile.py` has a front child execute the source, or reuses the TTIR of an equal source
   (`result_cache.py`), and a back child make the remaining stages.
5. `child_task.py` runs each child, and `reports.py` validates its report; `message_limits.py` reads
   a report as the record that the child wrote, within limits.
6. `build_record.py` makes the record; `child_failure.py` names the cause when a child died.

`inspect_job.py` and `derive.py` are the handlers of inspections and derivations.
"""
