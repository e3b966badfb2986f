"""An MCP endpoint for language models: six tools on our own API, with short answers."""
