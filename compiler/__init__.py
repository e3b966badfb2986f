"""The definition of a compilation (the modules of this folder) and its steps (the folders)."""
