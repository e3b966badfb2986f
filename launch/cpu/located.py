"""The lanes of an access that are in the memory of one argument, in bounds and aligned."""

import numpy as np

from launch.buffers.element_types import Array

Shape = tuple[int, ...]


class LocatedLanes:
    """Lanes by their indices; the indices of inactive lanes may have any value."""

    def __init__(
        self, allocation: int, elements: Array, indices: Array, first: int, live: Array | None
    ) -> None:
        """`elements` is the whole allocation; index 0 refers to element `first`."""
        self.allocation, self.elements = allocation, elements
        self.live = live
        self._indices, self._first = indices, first
        self._cells: tuple[Shape, Array] | None = None

    @property
    def shape(self) -> Shape:
        """Return the shape that the lanes broadcast to."""
        shape: Shape = self._indices.shape
        if self.live is None:
            return shape
        return np.broadcast_shapes(shape, self.live.shape)

    def loaded(self, rest: Array) -> Array:
        """Return the contents, and `rest` for inactive lanes."""
        elements = self.elements[self._first :] if self._first else self.elements
        loaded: Array = elements.take(self._indices, mode="clip")
        return loaded if self.live is None else np.where(self.live, loaded.view(rest.dtype), rest)

    def cells(self, shape: Shape) -> Array:
        """Return the element numbers of the live lanes, broadcast to `shape`.

        The result has that shape if all lanes are live; otherwise it is flat.
        """
        if self._cells is None or self._cells[0] != shape:
            indices = self.picked(self._indices, shape)
            if self._first or indices.dtype != np.int64:
                indices = np.add(indices, self._first, dtype=np.int64)
            self._cells = shape, indices
        return self._cells[1]

    def picked(self, values: Array, shape: Shape) -> Array:
        """Return the `values` of the live lanes in the order of `cells`."""
        if values.shape != shape:
            values = np.broadcast_to(values, shape)
        return values if self.live is None else values[self.mask(shape)]

    def mask(self, shape: Shape) -> Array:
        """Return a mask of `shape` for the live lanes."""
        return np.broadcast_to(True if self.live is None else self.live, shape)

    def spread(self, values: Array) -> tuple[Shape, Array]:
        """Return the shape that the lanes and `values` broadcast to, and the live lanes' values."""
        shape = _common(self.shape, values.shape)
        return shape, self.picked(values, shape)

    def put(self, values: Array, shape: Shape) -> None:
        """Write the live lanes' values; for equal elements, the last one stays."""
        self.elements[self.cells(shape)] = values


class Rows(LocatedLanes):
    """Lanes in rows of consecutive elements, which move row by row.

    The first `length` lanes of each row are live, and no others.
    """

    def __init__(
        self, allocation: int, elements: Array, starts: Array, windows: Array, whole: Array
    ) -> None:
        """Set the rows, which begin at elements `starts`.

        `windows` has every run of as many elements as are live in a row; `whole` has the runs of
        full rows.
        """
        super().__init__(allocation, elements, starts, 0, None)
        self._windows, self._whole = windows, whole
        self._length: int = windows.shape[1]

    @property
    def shape(self) -> Shape:
        """Return the shape that the active lanes broadcast to."""
        return (*self._indices.shape[:-1], self._length)

    def loaded(self, rest: Array) -> Array:
        """Return the rows, padded with `rest` after their active lanes."""
        starts, length, width = self._indices[..., 0], self._length, self._whole.shape[1]
        outer = _common(starts.shape, rest.shape[:-1])
        if outer != starts.shape:
            starts = np.broadcast_to(starts, outer)
        if int(starts.max()) < len(self._whole):  # inactive lanes are in bounds, too
            loaded: Array = self._whole[starts]
        else:
            loaded = np.empty((*outer, width), self.elements.dtype)
            loaded[..., :length] = self._windows[starts]
        if length < width:
            behind = rest if rest.shape[-1] == 1 else rest[..., length:]
            loaded.view(rest.dtype)[..., length:] = behind
        return loaded

    def cells(self, shape: Shape) -> Array:
        """Return the element numbers of the live lanes, broadcast to `shape`."""
        if self._cells is None or self._cells[0] != shape:
            numbers = self._indices + np.arange(self._length)
            self._cells = shape, np.broadcast_to(numbers, shape)
        return self._cells[1]

    def spread(self, values: Array) -> tuple[Shape, Array]:
        """Return the shape that the live lanes and `values` broadcast to, and their values."""
        kept = values if values.ndim == 0 or values.shape[-1] == 1 else values[..., : self._length]
        return _common(self.shape, kept.shape), kept

    def put(self, values: Array, shape: Shape) -> None:
        """Write the rows; where rows overlap, the last one stays."""
        starts = self._indices[..., 0]
        if starts.shape != shape[:-1]:
            starts = np.broadcast_to(starts, shape[:-1])
        self._windows[starts] = values


def _common(a: Shape, b: Shape) -> Shape:
    return a if a == b else np.broadcast_shapes(a, b)
