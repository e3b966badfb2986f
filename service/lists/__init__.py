# Runs in: service
"""Lists of what a caller asked for: one page of a collection, with a summary of each item.

`own_list.py` pages and filters. What an item says of its job is the collection's: `summaries.py`
has those of the core, and features have their own.
"""
