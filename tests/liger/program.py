"""A program that uses liger-kernel."""

import torch
from liger_kernel.ops.rms_norm import LigerRMSNormFunction
from liger_kernel.ops.swiglu import LigerSiLUMulFunction


class ModelNew(torch.nn.Module):
    def forward(self, x, gate, weight):
        y = LigerRMSNormFunction.apply(x, weight, 1e-6)
        return LigerSiLUMulFunction.apply(gate, y)


def get_inputs():
    return [torch.rand(16, 512), torch.rand(16, 512), torch.rand(512)]


def get_init_inputs():
    return []
