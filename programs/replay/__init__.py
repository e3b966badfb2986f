"""Runs validated tapes on torch, in trusted processes; it never imports a user's code."""
