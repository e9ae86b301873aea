"""The engine's stream is taken apart the same way however it is cut."""

from hypothesis import given
from hypothesis import strategies as st

from steelyard.sandboxes.docker_exec import Frames

PIECES = st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=40)), max_size=12)


@given(PIECES, st.lists(st.integers(1, 30), max_size=60))
def test_frames_are_whole_however_they_come(pieces: list[tuple[int, bytes]], cuts: list[int]) -> None:
    """Every byte arrives once, in order, on its own stream."""
    wire = b"".join(bytes([stream, 0, 0, 0]) + len(data).to_bytes(4, "big") + data for stream, data in pieces)
    frames, got = Frames(), {1: b"", 2: b""}
    for cut in [*cuts, len(wire) + 1]:
        for stream, data in frames.feed(wire[:cut]):
            got[stream] += data
        wire = wire[cut:]

    assert got == {one: b"".join(data for stream, data in pieces if stream == one) for one in (1, 2)}
