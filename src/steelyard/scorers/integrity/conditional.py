"""Checks that stand as they did, or weaker, but under more conditions than before."""

from collections import defaultdict
from collections.abc import Iterator

from steelyard.scorers.integrity.compare import key
from steelyard.scorers.integrity.model import Check


def put_under_conditions(was: list[Check], now: list[Check]) -> Iterator[tuple[Check, Check]]:
    """Each check of a test that is made less often, with what became of it."""
    is_now: dict[str, list[Check]] = defaultdict(list)
    of_subject: dict[str, list[Check]] = defaultdict(list)
    known = {key(check) for check in was}
    for check in now:
        is_now[key(check)].append(check)
        if key(check) not in known:
            for subject in check.subjects:
                of_subject[subject].append(check)
    for alike in is_now.values():
        alike.sort(key=_conditions, reverse=True)
    for old in sorted(was, key=_conditions):
        same = is_now.get(key(old))
        if same is None:
            near = [check for subject in old.subjects for check in of_subject.get(subject, ())]
            new = min(near, key=_conditions) if near else None
        else:
            new = same.pop() if same else None
        if new is not None and len(new.under) > len(old.under):
            yield old, new


def _conditions(check: Check) -> int:
    return len(check.under)
