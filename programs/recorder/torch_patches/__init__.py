"""torch and Triton as they are in a process that records: changed once, for good."""
