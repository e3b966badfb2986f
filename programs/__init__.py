"""Programs, whole: host Python that launches kernels, recorded once as a tape and replayed.

`service` has the routes, `worker` drives programs and judges them, and `gpu` replays them on a GPU.
The rest is pure but for two folders: `recorder` runs user code on torch's fake tensors in children
that see no data, and `replay` runs tapes on torch in a process that never imports user code.
"""
