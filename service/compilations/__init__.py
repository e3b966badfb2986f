# Runs in: service
"""Compilations: from a request to its answer.

Start here: `submission.py` is the whole policy of a POST, from the cheapest answer to a new job.

1. `response_cache.py` answers bodies that this process answered before.
2. `store/compilations.py` answers bodies that any service has resolved before.
3. `submission.py` resolves the request, and looks up the record under its key.
4. On a miss, `submission.py` submits a job and waits for it.
5. `answer.py` puts record, cache status and artifacts into bytes.

`retrieval.py` serves GET by key. `derivations.py` finds or submits what is derived from finished
compilations, and inspections.
"""
