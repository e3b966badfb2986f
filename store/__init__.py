"""What lives in Redis or Valkey: compilations, blobs, jobs, events, workers. Nothing else."""
