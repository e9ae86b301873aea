"""Choosing a sandbox by name."""

import pytest

from steelyard.errors import InputError
from steelyard.sandboxes.choose import choose


def test_by_name() -> None:
    """The name is the type."""
    assert choose("local").type == "local"


@pytest.mark.bwrap
def test_auto_takes_bubblewrap_where_it_works() -> None:
    """The one that isolates is preferred."""
    provider = choose("auto")

    assert (provider.type, provider.isolates, provider.note) == ("bwrap", True, None)


def test_an_unknown_name_says_what_is_allowed() -> None:
    """A name that is no sandbox is the user's mistake, in one line."""
    with pytest.raises(InputError, match="unknown sandbox 'jail'; allowed: auto, local, bwrap, docker"):
        choose("jail")
