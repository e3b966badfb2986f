"""The calls of the client, for asyncio."""
