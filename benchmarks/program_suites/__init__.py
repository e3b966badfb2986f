"""Records and replays public suites of host programs with a separate tritond."""
