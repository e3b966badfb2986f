"""Launches on the GPUs of a machine, from a claimed job to what came of it; never imports CUDA."""
