# Runs in: service
"""Batches: up to 1,000 compilations, launches, or jobs of a feature in one request.

Start here: `batch_submission.py` submits each item in the same way as a single request.

1. `batch.py` has the models of the request and the answer; `batch_document.py` describes them by
   the kinds of jobs that there are.
2. `batch_submission.py` resolves each item. It answers hits at once, merges equal compilations into
   one job, and turns an invalid item into a problem.
3. The store counts items as their jobs end (`store/batches.py`). No process waits for a batch.
4. `batch_answer.py` reads the results and renders the batch.

A batch is cancelled in `batch_submission.py` as well. Compile jobs that others want continue.
"""
