# Runs in: worker, child with user code, child without
"""Workers: run untrusted code in pools of sandboxed processes, and feed them jobs.

The first module that a worker and its zygotes load, so that the digest here is older than all of
their other code: a zygote that finds the same one when it has loaded everything runs what this
worker runs.
"""

from worker.code_digest import load_from_source, pipeline_digest

load_from_source()
PIPELINE = pipeline_digest()
