# Runs in: service
"""An MCP endpoint for language models: seven tools on our own API, with short answers."""
