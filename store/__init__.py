# Runs in: service, worker
"""The data in Redis or Valkey: compilations, blobs, jobs, events, workers."""
