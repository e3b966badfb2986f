"""Classes of torch that host code derives from, as far as calls need them. Runs with user code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from compiler.front.script.fake_tensor import DTYPES, Tensor, device_of

if TYPE_CHECKING:
    from typing import Self  # not in Python 3.10, which Triton still supports


class Module:
    """A `torch.nn.Module`: calling it calls `forward`."""

    training = True

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Return the result of `forward`."""
        return self.forward(*arguments, **named)  # type: ignore[attr-defined]

    def parameters(self) -> Iterator[Tensor]:
        """Yield its own tensors, and those of its modules."""
        for value in vars(self).values():
            if isinstance(value, Tensor):
                yield value
            elif isinstance(value, Module):
                yield from value.parameters()

    def register_buffer(self, name: str, tensor: Any, **_: Any) -> None:
        """Set an attribute."""
        setattr(self, name, tensor)

    def to(self, *arguments: Any, **named: Any) -> Self:
        """Move its tensors, and those of its modules."""
        for name, value in list(vars(self).items()):
            if isinstance(value, (Tensor, Module)):
                setattr(self, name, value.to(*arguments, **named))
        return self

    def cuda(self, *_: Any) -> Self:
        """Move it to the GPU."""
        return self.to("cuda")

    def half(self) -> Self:
        """Turn its tensors into fp16."""
        return self.to(DTYPES["float16"])

    def itself(self, *_: Any, **__: Any) -> Self:
        """Return this module: what changes only its mode."""
        return self

    eval = train = requires_grad_ = itself


class Linear(Module):
    """A `torch.nn.Linear`."""

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, **named: Any
    ) -> None:
        self.in_features, self.out_features = in_features, out_features
        self.weight = _weight([out_features, in_features], named)
        self.bias = _weight([out_features], named) if bias else None

    def forward(self, tensor: Tensor) -> Tensor:
        """Return the shape of the product."""
        return tensor.like([*tensor.shape[:-1], self.out_features])


class Normalization(Module):
    """A `torch.nn.LayerNorm` or `RMSNorm`."""

    elementwise_affine = True

    def __init__(self, normalized_shape: Any, eps: float = 1e-5, **named: Any) -> None:
        is_number = isinstance(normalized_shape, int)
        self.normalized_shape = (normalized_shape,) if is_number else tuple(normalized_shape)
        self.eps = self.variance_epsilon = eps
        self.weight = _weight(self.normalized_shape, named)
        self.bias = _weight(self.normalized_shape, named)

    def forward(self, tensor: Tensor) -> Tensor:
        """Return a tensor of the same shape."""
        return tensor.like()


class Elementwise(Module):
    """A layer that changes each element."""

    def forward(self, tensor: Tensor, *_: Any) -> Tensor:
        """Return a tensor of the same shape."""
        return tensor.like()


LAYERS = {
    "Linear": Linear,
    **dict.fromkeys(("LayerNorm", "RMSNorm"), Normalization),
    **dict.fromkeys(("ReLU", "GELU", "SiLU", "Sigmoid", "Tanh", "Softmax"), Elementwise),
}


def _weight(shape: Any, named: dict[str, Any]) -> Tensor:
    dtype = named.get("dtype") or DTYPES["float32"]
    return Tensor(shape, dtype, device_of(named.get("device"))).requires_grad_()


class Context:
    """The `ctx` of a `torch.autograd.Function`."""

    saved_tensors: tuple[Any, ...] = ()
    needs_input_grad = (True,) * 64

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for `backward`."""
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *_: Any) -> None:
        """Do nothing."""

    mark_dirty = set_materialize_grads = mark_non_differentiable


def _gradient(result: Any, gradient: Tensor) -> Tensor | None:
    """Return the gradient of a result of `forward`; `gradient` is that of a value computed from it.

    That of a sum has its one element at every place.
    """
    if not isinstance(result, Tensor):
        return None
    if result.shape == gradient.shape:
        return gradient
    if gradient.ndim == 0:
        return Tensor(result.shape, result.dtype, result.device, strides=[0] * result.ndim)
    return result.like()


class Function:
    """A `torch.autograd.Function`; `backward` of its result calls that of the class."""

    @classmethod
    def apply(cls, *arguments: Any) -> Any:
        """Return what `forward` returns."""
        context = Context()
        result = cls.forward(context, *arguments)  # type: ignore[attr-defined]
        results = result if isinstance(result, tuple) else (result,)

        def backward(gradient: Tensor) -> None:
            cls.backward(context, *[_gradient(each, gradient) for each in results])  # type: ignore[attr-defined]

        for tensor in results:
            if isinstance(tensor, Tensor):
                tensor.derived_by = backward
        return result
