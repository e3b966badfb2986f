# Runs in: client
"""The client's requests, for asyncio."""
