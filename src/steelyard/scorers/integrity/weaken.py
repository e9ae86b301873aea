"""Compares each test with itself, before and after: what can still fail, and how much it still pins down."""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import islice

from steelyard.domain.diff import printable
from steelyard.domain.grade import Finding
from steelyard.scorers.integrity.analyse import Pair
from steelyard.scorers.integrity.cases import cut_short
from steelyard.scorers.integrity.compare import key, short
from steelyard.scorers.integrity.conditional import put_under_conditions
from steelyard.scorers.integrity.model import NOTHING, PARTIAL, Check, TestCase
from steelyard.scorers.integrity.paths import family_of
from steelyard.scorers.integrity.runs import guarded, narrowed, outside, unrun
from steelyard.scorers.integrity.strength import parts_of, strength_of, subjects_of, tolerance_of
from steelyard.scorers.integrity.wrapped import seen_through

SILENCED = 3
MOST_COMPARED, MOST_ALIKE, MOST_SAID, MOST_THROUGH = 2000, 12, 5000, 20
DEAD = {"unreachable": "can no longer be reached", "swallowed": "may fail unnoticed"}


@dataclass(frozen=True, slots=True)
class _Placed:
    """A test and the file it stands in."""

    pair: Pair
    test: TestCase


def weakenings(pairs: list[Pair]) -> list[Finding]:
    """Everything by which a test was made to assert less while the count stays as it was."""
    before = [_Placed(pair, test) for pair in pairs for test in pair.before.tests]
    after = [_Placed(pair, test) for pair in pairs for test in pair.after.tests]
    kept = _kept(before, after)
    findings: list[Finding] = []
    matches = _matched(before, after)
    for old, new in matches:
        if len(findings) >= MOST_SAID:
            break
        if old.test.collected and not new.test.collected:
            findings.append(
                _finding("uncollected", new, "is no longer collected as a test", old.test.name, new.test.name)
            )
        elif (
            old.test.body != new.test.body
            or old.test.checks != new.test.checks
            or old.test.cases != new.test.cases
            or old.test.guards != new.test.guards
            or (old.test.loops, old.test.idle, old.test.patched) != (new.test.loops, new.test.idle, new.test.patched)
            or (old.test.rows, old.test.heads) != (new.test.rows, new.test.heads)
        ):
            findings.extend(_weaker(old, new, kept))
    findings.extend(_shadowed(before, after))
    findings.extend(_vanished(before, after, matches, kept))
    findings.extend(finding for pair in pairs for finding in _loosened_lines(pair))
    for pair, less in outside(pairs):
        place = _Placed(pair, TestCase(less.name or pair.path, less.line))
        findings.append(_finding(less.rule, place, less.what, less.before, less.after, less.line))
    return findings


def _loosened_lines(pair: Pair) -> list[Finding]:
    """The same for a text without tests, or read by line rules: it stands for one test, what its lines say counts."""
    by_lines = pair.before.mode == pair.after.mode == "lines"
    if not by_lines and (pair.before.tests or pair.after.tests):
        return []
    was, now = (Counter(map(key, view.checks)) for view in (pair.before, pair.after))
    lost = [_by_text(check) for check in _take(list(pair.before.checks), was - now)[:MOST_COMPARED]]
    gained = [_by_text(check) for check in _take(list(pair.after.checks), now - was)[:MOST_COMPARED]]
    whole = _Placed(pair, TestCase(pair.path, 1))
    count, line = pair.silenced
    said = [
        _finding("commented_out", whole, f"has {count} lines of code that became a comment", "code", "a comment", line)
    ]
    findings = said if count >= SILENCED else []
    return [*findings, *_loosened(whole, lost, [check for check in gained if check.counts])]


def _by_text(check: Check) -> Check:
    said = check.text
    strength, subjects, wide, parts = strength_of(said), subjects_of(said), tolerance_of(said), parts_of(said)
    return Check(check.line, said, check.test, strength, check.dead, subjects, wide, parts)


def _vanished(
    before: list[_Placed], after: list[_Placed], matches: list[tuple[_Placed, _Placed]], kept: set[str]
) -> list[Finding]:
    """Tests that are gone, where fewer new ones came: a rewritten or merged test is no loss, a deleted one is."""
    known = {id(item) for match in matches for item in match}
    gone = [item for item in before if id(item) not in known and _is_real(item)]
    new = [item for item in after if id(item) not in known and _is_real(item)]
    gone = [item for item in gone if not all(key(check) in kept for check in item.test.checks if check.counts)]
    if len(gone) <= sum(item.test.cases or 1 for item in new):
        return []
    same = [match for match in matches if not match[0].test.name.startswith("<")]
    gained = sum(max(0, _able(now) - _able(was)) for was, now in same) + sum(map(_able, new))
    if gained >= sum(map(_able, gone)):
        return []
    return [_finding("vanished", item, "is gone", item.test.name, "") for item in gone[:MOST_SAID]]


def _able(item: _Placed) -> int:
    return sum(check.counts for check in item.test.checks)


def _is_real(item: _Placed) -> bool:
    """A test that runs and can fail."""
    return item.test.collected and not item.test.name.startswith("<") and any(c.counts for c in item.test.checks)


def effective(pairs: list[Pair]) -> tuple[int, int]:
    """How many assertions could fail before, and how many can now."""
    return (
        sum(check.counts for pair in pairs for check in pair.before.checks),
        sum(check.counts for pair in pairs for check in pair.after.checks),
    )


def _kept(before: list[_Placed], after: list[_Placed]) -> set[str]:
    """The checks that stand in the new tree as often as in the old one, wherever they moved."""
    were, are = _live(before), _live(after)
    return {check for check, count in are.items() if count >= were[check]}


def _live(placed: list[_Placed]) -> Counter[str]:
    tests = (item.test for item in placed if not item.test.name.startswith("<"))
    return Counter(key(check) for test in tests for check in test.checks if check.counts)


def _matched(before: list[_Placed], after: list[_Placed]) -> list[tuple[_Placed, _Placed]]:
    """Each old test with what became of it: by place and name, then by name, then by an unchanged body."""
    left = dict(enumerate(after))
    matches: list[tuple[_Placed, _Placed]] = []
    waiting = before
    for same in (_by_place, _by_name, _by_body):
        free = defaultdict(list)
        for index in reversed(left):
            free[same(left[index])].append(index)
        still: list[_Placed] = []
        for old in waiting:
            candidates = free.get(same(old))
            if candidates:
                matches.append((old, left.pop(candidates.pop())))
            else:
                still.append(old)
        waiting = still
    matches.extend(_hidden(waiting, list(left.values())))
    return matches


def _by_place(item: _Placed) -> tuple[str, str]:
    return item.pair.path, item.test.name


def _by_name(item: _Placed) -> tuple[str, str]:
    return "", item.test.name


def _by_body(item: _Placed) -> tuple[str, str]:
    return "", item.test.body or item.test.name


def _hidden(gone: list[_Placed], new: list[_Placed]) -> list[tuple[_Placed, _Placed]]:
    """A test whose new name still holds the old one, but which no runner collects."""
    found = []
    hidden = defaultdict(list)
    for item in new:
        if not item.test.collected:
            hidden[item.pair.path].append(item)
    names = {path: "\n".join(item.test.name for item in items) for path, items in hidden.items()}
    for old in gone:
        name, path = old.test.name.rsplit(".", 1)[-1], old.pair.path
        if len(name) > 6 and name in names.get(path, ""):
            found.append((old, next(item for item in hidden[path] if name in item.test.name)))
    return found


def _weaker(old: _Placed, new: _Placed, kept: set[str]) -> list[Finding]:
    was = [check for check in old.test.checks if check.counts]
    now = [check for check in new.test.checks if check.counts]
    lost_keys = Counter(map(key, was)) - Counter(map(key, now))
    findings = _fewer_cases(old, new)
    if new.test.cut is not None and old.test.cut is None:
        findings.append(_finding("unreachable", new, DEAD["unreachable"], "the whole test", "left early", new.test.cut))
    elif new.test.guards > old.test.guards and was:
        findings.append(_finding("guarded", new, "may end well before its assertions are made", "always run", "if …"))
    python = family_of(new.pair.path) == "python"
    fewer = (*(narrowed(was, now) if python else ()), *unrun(old.test, new.test))
    findings.extend(_finding(one.rule, new, one.what, one.before, one.after, one.line) for one in fewer[:MOST_COMPARED])
    if not findings and not python:
        findings.extend(
            _finding(
                "conditional", new, "is made only under a condition now", check.text, f"if … {after.text}", after.line
            )
            for check, after in islice(put_under_conditions(was, now), MOST_SAID)
            if old.test.collected or not check.text.endswith("(…)")
        )
    if not lost_keys or not old.test.collected:
        return findings
    lost = _take(was, lost_keys)
    dead = {key(check): check for check in new.test.checks if check.dead}
    for check in lost[:MOST_SAID]:
        after = dead.get(key(check))
        if after is not None:
            findings.append(_finding(after.dead, new, DEAD[after.dead], check.text, after.text, after.line))
    lost = [check for check in lost if key(check) not in dead]
    gained = _take(list(new.test.checks), Counter(map(key, new.test.checks)) - Counter(map(key, old.test.checks)))
    findings.extend(_tautologies(new, lost, gained))
    findings.extend(_loosened(new, lost, [check for check in gained if check.counts]))
    moved = all(key(check) in kept for check in lost)
    if len(now) < len(was) and not findings and not moved and not old.test.name.startswith("<"):
        said = "asserts less than before" if now else "no longer asserts anything"
        before = "; ".join(check.text for check in lost[:3]) or was[0].text
        findings.append(_finding("fewer_assertions" if now else "gutted", new, said, before, ""))
    return findings


def _take(checks: list[Check], keys: Counter[str]) -> list[Check]:
    keys = keys.copy()
    taken = []
    for check in checks:
        if keys[key(check)] > 0:
            keys[key(check)] -= 1
            taken.append(check)
    return taken


def _tautologies(new: _Placed, lost: list[Check], gained: list[Check]) -> list[Finding]:
    """Checks that can't fail, in place of checks that could."""
    empty = [check for check in gained if check.strength == NOTHING]
    return [
        _finding("tautology", new, "always holds", was.text, check.text, check.line)
        for was, check in zip(lost[:MOST_SAID], empty, strict=False)
    ]


def _loosened(new: _Placed, lost: list[Check], gained: list[Check]) -> list[Finding]:
    """A check of the same value that lets more through, where no other check of that value came in its place."""
    findings: list[Finding] = []
    of_subject = defaultdict(list)
    for check in gained:
        for subject in set(check.subjects):
            of_subject[subject].append(check)
        for subject in set(check.parts).difference(check.subjects) if check.parts else ():
            of_subject[subject].append(replace(check, strength=min(check.strength, PARTIAL)))
    pieces = _pieces(lost, gained)
    for place, was in enumerate(lost):
        near = [check for subject in was.subjects for check in of_subject[subject][:MOST_ALIKE]]
        sought = not near and place < MOST_THROUGH and family_of(new.pair.path) != "python"
        through = seen_through(was, gained) if sought else None
        if through is not None and through[1] < was.strength:
            findings.append(_finding("loosened", new, "pins down less", was.text, through[0].text, through[0].line))
        if not near or (near[0].parts and not pieces.isdisjoint(was.subjects)):
            continue
        if len(findings) >= MOST_COMPARED:
            break
        best = max(near, key=lambda check: check.strength)
        if best.strength < was.strength:
            findings.append(_finding("loosened", new, "pins down less", was.text, best.text, best.line))
        elif all(len(check.under) > len(was.under) for check in near):
            less = guarded(was, best)
            findings.append(_finding(less.rule, new, less.what, less.before, less.after, less.line))
        elif was.tolerance is not None and all(_wider(was, check) for check in near):
            findings.append(
                _finding("loosened", new, "lets a larger difference through", was.text, best.text, best.line)
            )
    return findings


def _pieces(lost: list[Check], gained: list[Check]) -> set[str]:
    """The values that new checks look into, which then are compared piece by piece."""
    looked_at = {subject for was in lost for subject in was.subjects}
    if not any(check.parts for check in gained):
        return set()  # nobody asks
    said = {said for check in gained if not check.parts for said in check.subjects}
    return {one[: sign.start()] for one in said for sign in re.finditer(r"[.\[(]", one)} & looked_at


def _wider(was: Check, now: Check) -> bool:
    return was.tolerance is not None and now.tolerance is not None and now.tolerance > was.tolerance * 1.001


def _fewer_cases(old: _Placed, new: _Placed) -> list[Finding]:
    was, now = old.test.cases, new.test.cases
    shorter = cut_short(old.test, new.test) if old.test.collected else None
    if shorter is not None:
        return [_finding("fewer_cases", new, "runs with fewer cases", *shorter)]
    if now is None or now >= (now + 1 if was is None and now == 0 else was or 0):
        return []
    return [_finding("fewer_cases", new, "runs with fewer cases", f"{was or 1} cases", f"{now} cases")]


def _shadowed(before: list[_Placed], after: list[_Placed]) -> list[Finding]:
    """A second function of the same name in the same place: the first never runs. Titles may be said twice."""
    were = Counter((item.pair.path, item.test.name) for item in before)
    seen: Counter[tuple[str, str]] = Counter()
    findings = []
    for item in after:
        place = (item.pair.path, item.test.name)
        seen[place] += 1
        if seen[place] == 2 and were[place] == 1 and item.test.collected and _replaces(item):
            findings.append(_finding("shadowed", item, "replaces a test of the same name", "1 test", "2 tests"))
    return findings


def _replaces(item: _Placed) -> bool:
    """Whether a second function of this name takes the first one's place, as only some languages have it."""
    return family_of(item.pair.path) in {"python", "ruby"} and item.test.name.replace(".", "_").isidentifier()


def _finding(rule: str, place: _Placed, what: str, before: str, after: str, line: int | None = None) -> Finding:
    name = short(place.test.name)
    said = (
        f"{name}: assertion {what}"
        if rule in {"unreachable", "swallowed", "tautology", "loosened", "conditional"}
        else f"{name} {what}"
    )
    return Finding(
        path=printable(place.pair.path),
        line=line or place.test.line,
        rule=rule,
        message=f"{said}: {short(before)} → {short(after) or 'nothing'}",
        test=name,
        before=short(before),
        after=short(after) or None,
    )
