"""Whole files of PyPI packages, posted as `tritonc compile FILE` posts them."""
