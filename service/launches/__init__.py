"""From a launch request to its job, and on which device it runs."""
