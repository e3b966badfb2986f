"""What a compilation is (the modules of this folder) and how it is made (its folders)."""
