# Runs in: service
"""Lists of a caller's requests: one page of a collection, with a summary of each item.

`own_list.py` pages and filters. The members of an item depend on the collection: `summaries.py`
has those of the core, and features have their own.
"""
