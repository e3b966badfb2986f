"""What a launch is: its request, its arguments as data, and its answer.

Words only: nothing here runs a kernel, makes an array, imports triton or knows HTTP.
"""
