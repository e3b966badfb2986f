"""The command `tritonc`; it uses the client as anybody else would."""
