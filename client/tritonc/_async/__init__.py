"""The client's requests, for asyncio."""
