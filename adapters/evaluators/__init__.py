"""Other evaluators' APIs, for the clients that speak them: thin, and on /v1/programs alone."""
