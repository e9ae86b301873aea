"""How much reading one change may cost: counted in steps, not seconds, so that the same change is always read alike."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# About half a second; 0.6 MB of ordinary Python, or a hundred times what anybody writes into the files of a runner.
STEPS = 160_000


class TooMuchError(ValueError):
    """A change that costs more to read than any that people write: the line rules read what is left of it."""


_left: ContextVar[list[int] | None] = ContextVar("steps left", default=None)


@contextmanager
def metered(steps: int = STEPS) -> Iterator[None]:
    """Everything that is read inside shares these steps."""
    token = _left.set([steps])
    try:
        yield
    finally:
        _left.reset(token)


def spend(steps: int) -> None:
    """Take steps off what is left; `TooMuchError` when it is too little. Without a meter nothing is counted."""
    left = _left.get()
    if left is not None:
        if steps > left[0]:
            raise TooMuchError("too much to read")
        left[0] -= steps
