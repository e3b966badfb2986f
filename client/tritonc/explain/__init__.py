# Runs in: client
"""Why a kernel spills, what limits its occupancy, and what other settings change."""
