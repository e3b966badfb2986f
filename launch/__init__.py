"""What a launch is and how it is judged. No HTTP, no Redis, no CUDA."""
