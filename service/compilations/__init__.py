"""From a compile request to its answer: caches, the job, and waiting for it."""
