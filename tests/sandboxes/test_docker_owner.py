"""Whose a container is: only what is surely nobody's any more is removed."""

import json
import subprocess
import sys
from typing import Any

import pytest

from steelyard.sandboxes.docker_owner import OWNER, is_orphan, labels, started


def changed(place: int, value: Any) -> dict[str, str]:
    """This process's labels with one part of the owner replaced."""
    owner = json.loads(labels("run")[OWNER])
    owner[place] = value
    return {OWNER: json.dumps(owner)}


def test_a_living_harness_keeps_its_containers() -> None:
    """This process is alive, so what it made is no orphan."""
    assert not is_orphan(labels("run"))


def test_a_number_that_was_used_again_is_another_process() -> None:
    """The same process number with another start time means that the harness is gone."""
    assert is_orphan(changed(4, "1"))


def test_an_ended_process_is_gone() -> None:
    """A process that has ended is not there any more, and what it made is an orphan."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    assert started(done.pid) is None
    assert is_orphan(changed(3, done.pid))


def test_other_machines_and_views_are_left_alone() -> None:
    """Process numbers of another machine or another process namespace say nothing here."""
    assert not is_orphan(changed(2, "pid:[1]"))
    assert not is_orphan({OWNER: json.dumps(["other machine", "other boot", "pid:[1]", 1, "1"])})


@pytest.mark.parametrize("owner", ["", "null", "[]", '["a"]', '[1,2,3,"x",5]', "{}", "\0"])
def test_labels_that_are_no_owner_are_left_alone(owner: str) -> None:
    """What can't be read is not removed."""
    assert not is_orphan({OWNER: owner})
    assert not is_orphan({})
