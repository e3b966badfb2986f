"""Public suites of host programs, recorded and replayed by a tritond of their own."""
