"""Further cases of one launch, made from its request and a seed. Pure: nothing here runs anything.

Only what the request itself makes legal is generated; what is not certain stays as it is, and why
is said.
"""
