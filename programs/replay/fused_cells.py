"""LSTM and GRU cells that torch fuses only for CUDA, composed of other ops for other devices.

They compute like CUDA's kernels (aten/src/ATen/native/cuda/RNN.cu): halves in fp32, with a
workspace for the backward. It holds the gates in the order of the weights, and for a GRU also the
last hidden state and its product.
"""

from typing import Any

import torch

Given = Any
"""A tensor, or None."""


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def _summed(*parts: Given) -> torch.Tensor:
    first, *others = [_wide(part) for part in parts if part is not None]
    for other in others:
        first = first + other
    return first


def lstm_cell(
    input_gates: torch.Tensor, hidden_gates: torch.Tensor, cell: torch.Tensor,
    input_bias: Given = None, hidden_bias: Given = None,
) -> tuple[torch.Tensor, ...]:  # fmt: skip
    """Return hidden state, cell state and workspace, as `_thnn_fused_lstm_cell` does."""
    gates = _summed(input_gates, hidden_gates, input_bias, hidden_bias).chunk(4, 1)
    enter, forget, out = (torch.sigmoid(gates[at]) for at in (0, 1, 3))
    new = torch.tanh(gates[2])
    state = forget * _wide(cell) + enter * new
    workspace = torch.cat([enter, forget, new, out], 1)
    made = out * torch.tanh(state), state, workspace
    return tuple(one.to(cell.dtype).contiguous() for one in made)


def lstm_cell_backward(
    hidden_grad: Given, cell_grad: Given, cell: torch.Tensor, state: torch.Tensor,
    workspace: torch.Tensor, has_bias: bool,
) -> tuple[Given, ...]:  # fmt: skip
    """Return the gradients of gates, cell and bias, of `_thnn_fused_lstm_cell_backward_impl`."""
    if hidden_grad is None and cell_grad is None:
        return None, None, None
    enter, forget, new, out = _wide(workspace).chunk(4, 1)
    by_hidden = torch.zeros_like(enter) if hidden_grad is None else _wide(hidden_grad)
    by_cell = torch.zeros_like(enter) if cell_grad is None else _wide(cell_grad)
    bent = torch.tanh(_wide(state))
    through = by_hidden * out * (1 - bent * bent) + by_cell
    parts = [
        through * new * (1 - enter) * enter,
        through * _wide(cell) * (1 - forget) * forget,
        through * enter * (1 - new * new),
        by_hidden * bent * (1 - out) * out,
    ]
    gates = torch.cat(parts, 1).to(workspace.dtype)
    return gates, (through * forget).to(cell.dtype), gates.sum(0) if has_bias else None


def gru_cell(
    input_gates: torch.Tensor, hidden_gates: torch.Tensor, hidden: torch.Tensor,
    input_bias: Given = None, hidden_bias: Given = None,
) -> tuple[torch.Tensor, ...]:  # fmt: skip
    """Return hidden state and workspace, as `_thnn_fused_gru_cell` does."""
    given = _summed(input_gates, input_bias).chunk(3, 1)
    kept = _summed(hidden_gates, hidden_bias).chunk(3, 1)
    reset, update = (torch.sigmoid(given[at] + kept[at]) for at in (0, 1))
    new = torch.tanh(given[2] + reset * kept[2])
    last = _wide(hidden)
    workspace = torch.cat([reset, update, new, last, kept[2]], 1)
    made = new + update * (last - new), workspace
    return tuple(one.to(hidden.dtype).contiguous() for one in made)


def gru_cell_backward(
    hidden_grad: torch.Tensor, workspace: torch.Tensor, has_bias: bool
) -> tuple[Given, ...]:
    """Return the gradients that `_thnn_fused_gru_cell_backward` does."""
    reset, update, new, last, kept = _wide(workspace).chunk(5, 1)
    by_hidden = _wide(hidden_grad)
    by_update = by_hidden * (last - new) * (1 - update) * update
    by_new = by_hidden * (1 - update) * (1 - new * new)
    by_reset = by_new * kept * (1 - reset) * reset
    kind = workspace.dtype
    given = torch.cat([by_reset, by_update, by_new], 1).to(kind)
    keeping = torch.cat([by_reset, by_update, by_new * reset], 1).to(kind)
    biases = (given.sum(0), keeping.sum(0)) if has_bias else (None, None)
    return given, keeping, (by_hidden * update).to(kind).contiguous(), *biases


FUSED_CELLS: dict[Any, Any] = {
    torch.ops.aten._thnn_fused_lstm_cell.default: lstm_cell,
    torch.ops.aten._thnn_fused_lstm_cell_backward_impl.default: lstm_cell_backward,
    torch.ops.aten._thnn_fused_gru_cell.default: gru_cell,
    torch.ops.aten._thnn_fused_gru_cell_backward.default: gru_cell_backward,
}
"""Cells by the name of torch's overload."""
