# Runs in: service
"""Launches in the service: checks a request, chooses its device, and queues its job."""
