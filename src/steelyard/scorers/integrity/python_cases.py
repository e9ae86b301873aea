"""How often a Python test runs what it asserts: parametrised cases, loops, and lists that are written out."""

import ast
from collections.abc import Mapping

from steelyard.scorers.integrity.model import Loop
from steelyard.scorers.integrity.python_locals import dotted
from steelyard.scorers.integrity.python_nodes import Function, constant, last_name, walk
from steelyard.scorers.integrity.python_values import Say

EXAMPLES = 100  # what hypothesis tries unless it is told
MOST, DEEPEST, SHORT, MOST_WRITTEN = 10**9, 6, 200, 300
_SAME_SIZE = frozenset(
    {"list", "tuple", "sorted", "reversed", "enumerate", "iter", "items", "values", "keys", "tqdm", "dict"}
)
_CUTS = frozenset({"islice", "filter", "takewhile", "dropwhile", "sample", "head", "take", "first", "compress"})
_LISTED = (ast.List, ast.Tuple, ast.Set)
Names = Mapping[str, ast.expr]


def size(node: ast.expr, names: Names, depth: int = DEEPEST) -> int | None:
    """How many values there are to go through, where that is written."""
    if depth == 0:
        return None
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        said = node.elts if len(node.elts) > MOST_WRITTEN else _unlike(node.elts)
        return _sum([size(v.value, names, depth - 1) if isinstance(v, ast.Starred) else 1 for v in said])
    if isinstance(node, ast.Dict):
        return None if None in node.keys else len(node.keys)
    if isinstance(node, ast.Name):
        return size(names[node.id], names, depth - 1) if node.id in names else None
    if isinstance(node, ast.Call):
        return _size_of_call(node, names, depth)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return _sliced(node.slice, size(node.value, names, depth - 1))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _sum([size(node.left, names, depth - 1), size(node.right, names, depth - 1)])
    if isinstance(node, ast.IfExp):
        both = [size(part, names, depth - 1) for part in (node.body, node.orelse)]
        return min(one for one in both if one is not None) if None not in both else None
    if isinstance(node, ast.ListComp | ast.GeneratorExp) and len(node.generators) == 1:
        whole = size(node.generators[0].iter, names, depth - 1)
        return whole if whole is None else max(0, whole - len(node.generators[0].ifs))  # a filter leaves something out
    return None


def _unlike(values: list[ast.expr]) -> list[ast.expr]:
    """Values without those that are said twice."""
    return list({ast.dump(value): value for value in values}.values())


def _sum(parts: list[int | None]) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _size_of_call(node: ast.Call, names: Names, depth: int) -> int | None:
    name = last_name(node.func)
    if name == "range" and node.args:
        given = [value for known, value in map(constant, node.args) if known and type(value) is int]
        fits = len(given) == len(node.args) < 4 and 0 not in given[2:] and all(abs(one) < MOST for one in given)
        return len(range(*given)) if fits else None
    if name == "islice" and len(node.args) == 2:
        known, most = constant(node.args[1])
        whole = size(node.args[0], names, depth - 1)
        return min(most, most if whole is None else whole) if known and type(most) is int else None
    if name == "zip" and node.args:
        known_sizes = [one for one in (size(arg, names, depth - 1) for arg in node.args) if one is not None]
        return min(known_sizes, default=None)
    if name == "chain":
        return _sum([size(arg, names, depth - 1) for arg in node.args])
    if name in _SAME_SIZE and isinstance(node.func, ast.Attribute) and not node.args:
        return size(node.func.value, names, depth - 1)
    return size(node.args[0], names, depth - 1) if name in _SAME_SIZE and node.args else None


def _sliced(cut: ast.Slice, whole: int | None) -> int | None:
    parts = [constant(part) if part is not None else (True, None) for part in (cut.lower, cut.upper, cut.step)]
    if not all(known and (value is None or type(value) is int) for known, value in parts) or parts[2][1] == 0:
        return None
    if whole is not None:
        return len(range(whole)[slice(*(value for _, value in parts))])  # type: ignore[arg-type]  # they are numbers
    upper = parts[1][1]
    return upper if parts[0][1] is None and type(upper) is int and upper >= 0 else None


def _uncut(node: ast.expr) -> tuple[ast.expr, int]:
    """What is gone through before anything was left out of it, and how often something was."""
    cuts = 0
    for _ in range(DEEPEST):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            node, cuts = node.value, cuts + 1
        elif (picked := _picked(node)) is not None:
            node, cuts = picked, cuts + 1
        elif isinstance(node, ast.BoolOp):
            node = node.values[-1]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.Sub):
            node, cuts = node.left, cuts + 1
        elif isinstance(node, ast.Call) and last_name(node.func) in _CUTS and node.args:
            turned = last_name(node.func) in {"filter", "takewhile", "dropwhile"} and len(node.args) > 1
            node, cuts = node.args[1 if turned else 0], cuts + 1
        elif isinstance(node, ast.Call) and last_name(node.func) in _SAME_SIZE | {"set", "frozenset"}:
            if not node.args or isinstance(node.func, ast.Attribute):
                break
            node = node.args[0]
        elif isinstance(node, ast.ListComp | ast.GeneratorExp) and len(node.generators) == 1:
            cuts += len(node.generators[0].ifs)
            node = node.generators[0].iter
        else:
            break
    return node, cuts


def _picked(node: ast.expr) -> ast.expr | None:
    """The list of which `[cases[0], cases[2]]` picks some."""
    if not isinstance(node, ast.List | ast.Tuple | ast.Set) or not node.elts:
        return None
    names = {dotted(one.value) if isinstance(one, ast.Subscript) else "" for one in node.elts}
    first = node.elts[0]
    return first.value if len(names) == 1 and "" not in names and isinstance(first, ast.Subscript) else None


def loops(node: Function, names: Names, say: Say) -> tuple[Loop, ...]:
    """Everything a test goes through: its cases, its loops, its comprehensions over what is written out."""
    found = [loop for item in node.decorator_list if isinstance(item, ast.Call) for loop in _worn(item, names, say)]
    shown = sum(isinstance(item, ast.Call) and last_name(item.func) == "example" for item in node.decorator_list)
    if shown:
        found.append(Loop(node.lineno, "@example", size=shown))
    return (*found, *loops_in(node.body, names, say))


def loops_in(body: list[ast.stmt], names: Names, say: Say) -> tuple[Loop, ...]:
    """The loops of a block."""
    found: list[Loop] = []
    for part in [part for stmt in body for part in walk(stmt)]:
        if isinstance(part, ast.For | ast.AsyncFor):
            once = any(isinstance(stmt, ast.Break | ast.Return) for stmt in part.body)
            found.append(_loop(part.lineno, say(part.target), part.iter, names, say, once))
        elif isinstance(part, ast.Assign) and isinstance(part.value, ast.Subscript) and constant(part.value.slice)[0]:
            whole = say(part.value.value)[:SHORT]
            found.append(Loop(part.lineno, say(part.targets[0]), say(part.value)[:SHORT], whole, 1, 1))
        elif isinstance(part, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            found.extend(
                _loop(part.lineno, say(one.target), one.iter, names, say, False)
                for one in part.generators
                if isinstance(one.iter, _LISTED)
            )
    return tuple(found)


def _loop(line: int, target: str, given: ast.expr, names: Names, say: Say, once: bool) -> Loop:
    whole, cuts = _uncut(given)
    return Loop(line, target, say(given)[:SHORT], say(whole)[:SHORT], cuts + once, size(given, names))


def _worn(item: ast.Call, names: Names, say: Say) -> list[Loop]:
    name = last_name(item.func)
    values = parametrised(item)
    if values is not None and name == "parametrize":
        return [_loop(item.lineno, f"@{say(item.args[0])}", values, names, say, False)]
    if name == "settings":
        given = [constant(keyword.value)[1] for keyword in item.keywords if keyword.arg == "max_examples"]
        return [Loop(item.lineno, "max_examples", size=most) for most in given if type(most) is int]
    return []


def parametrised(item: ast.Call) -> ast.expr | None:
    """The values a decorator runs a test with."""
    name = last_name(item.func)
    if name == "parametrize":
        named = [keyword.value for keyword in item.keywords if keyword.arg == "argvalues"]
        return item.args[1] if len(item.args) >= 2 else named[0] if named else None
    if name in {"expand", "data"} and item.args:
        return item.args[0] if name == "expand" else ast.Tuple(item.args)
    return None


def cases(node: Function, names: Names) -> int | None:
    """How many parametrised cases a test has, where they are written out."""
    total = None
    for decorator in node.decorator_list:
        values = parametrised(decorator) if isinstance(decorator, ast.Call) else None
        if values is None:
            continue
        known = constant(values)
        count = 1 if known[0] and not isinstance(known[1], str | tuple | dict) else size(values, names)
        if count is None:
            return None
        total = min(MOST, (total or 1) * count if total != 0 else 0)
    return total


def lists_in(body: list[ast.stmt]) -> dict[str, ast.expr]:
    """The names that a module or class gives to lists it writes out."""
    found: dict[str, ast.expr] = {}
    for node in body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name):
                found[target.id] = _again(node.value, target.id, found)
        elif isinstance(node, ast.Delete) and isinstance(node.targets[0], ast.Subscript):
            name, cut = last_name(node.targets[0].value), node.targets[0].slice
            if name in found and isinstance(cut, ast.Slice) and cut.upper is None:
                found[name] = _located(ast.Subscript(found[name], ast.Slice(None, cut.lower)), node)
        elif isinstance(node, ast.ClassDef):
            found.update(lists_in(node.body))
    return found


def _again(value: ast.expr, name: str, found: dict[str, ast.expr]) -> ast.expr:
    """A value in which the name itself stands for what it was: `CASES = CASES[:1]`."""
    if name in found and isinstance(value, ast.Subscript) and last_name(value.value) == name:
        return _located(ast.Subscript(found[name], value.slice), value)
    return value


def _located(node: ast.Subscript, place: ast.AST) -> ast.Subscript:
    return ast.copy_location(node, place)


def fewer(old: tuple[Loop, ...], new: tuple[Loop, ...]) -> list[tuple[Loop | None, Loop]]:
    """Loops that go through less than they did: each new one with what it was."""
    left: dict[str, list[Loop]] = {}
    for loop in reversed(old):
        left.setdefault(loop.target, []).append(loop)
    found: list[tuple[Loop | None, Loop]] = []
    for loop in new:
        was = left[loop.target].pop() if left.get(loop.target) else None
        if was is None:
            if loop.target == "max_examples" and loop.size is not None and loop.size < EXAMPLES:
                found.append((None, loop))
        elif was.size is not None and loop.size is not None:
            if loop.size < was.size or (loop.cuts > was.cuts and loop.size == was.size and loop.whole == was.whole):
                found.append((was, loop))
        elif (loop.whole == was.whole and loop.cuts > was.cuts) or _is_one(was, loop):
            found.append((was, loop))
    gone = [loop for loops in left.values() for loop in loops if loop.target.startswith("@") and loop.size != 1]
    if gone and len(new) < len(old) and not any(loop.target.startswith("@") for loop in new):
        found.append((gone[0], Loop(gone[0].line, "", "once")))
    return found


def _is_one(was: Loop, now: Loop) -> bool:
    """A single value that is written out, in place of all that a name stood for."""
    return now.size == 1 and was.size is None and was.whole.isidentifier() and now.text[:1] in {"[", "("}
