"""Programs over HTTP: submitted, read, cancelled, and their tapes."""
