# Runs in: worker
"""The worker's side of launchers: started, given launches, ended. Never imports CUDA."""
