# Runs in: service, worker, child without, launcher
"""Checks of a tape that need no torch: of its ops' names, results, shared storages and arguments.

User code ran next to the writer of the tape, so the tape may be forged. Each shape, stride and
dtype that follows by plain arithmetic is derived here. A replay derives all of them again with
torch's meta kernels (`programs/replay/checked_tapes.py`). Both are needed:

- Torch cannot be asked first. `aten.split` of 2^24 elements by ones has torch make 2^24 tensors on
  the meta device, and some overloads end the process for shapes that no program has
  (`fragile_arguments`). Here their results are counted before anything makes them.
- The service and the workers read tapes without torch: they show them as text, count work and find
  flags, even if no replay ran.
- Arithmetic is not enough either: it knows no shape of a matrix product or a convolution.

Of 20 forged tapes in `tests/programs/unit/test_forged_tapes.py`, the replay alone refuses 15 and
the checks of storages and devices here the other 5. A view that makes too many tensors is refused
only by its derivation here.
"""
