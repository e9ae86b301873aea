"""A shell text as the simple commands in it, written one way, so that quoting and wrapping hide little.

This is no shell: a name put together at run time (`a=g; b=it; $a$b log`) stays hidden. It undoes line continuations,
quotes, backslashes in words, `$IFS`, paths to programs, wrappers (`env`, `sudo`, `timeout 5`, `bash -c`) and git's
global options, and leaves out the text of here-documents that are only written to a file.
"""

import re
from collections.abc import Iterator

# What is inside quotes is stepped over: a `<<` there begins nothing.
_HEREDOC = re.compile(
    r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.|<<<|(?P<newline>\n)"
    r"|<<-?[ \t]*+(?P<quote>['\"]?)\\?(?P<end>[A-Za-z_][A-Za-z0-9_]*)(?P=quote)",
    re.DOTALL,
)
_RUNS_ITS_INPUT = re.compile(
    r"(?:^|[\s|;&(/])(?:sh|bash|zsh|dash|ksh|python[0-9.]*|node|perl|ruby|php|xargs)(?![\w./-])"
)
_IFS = re.compile(r"\$\{?IFS\}?(?:\$[0-9])?")
_SEPARATOR = re.compile(r"[\n;|&()`]+|\$\(")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=\S*$")
_WRAPPERS = frozenset(
    re.findall(
        r"\S+",
        """env sudo doas command exec builtin nohup time nice ionice stdbuf setsid unshare busybox xargs eval timeout
        chroot then do else elif if while until ! { }""",
    )
)
_SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh", "ash"))
_INTERPRETER = re.compile(r"^(?:python[0-9.]*|pypy3?|node|deno|bun|perl|ruby|php|lua)$")
_GIT_WITH_VALUE = frozenset(("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix"))


def simple_commands(text: str) -> Iterator[str]:
    """Each simple command, program first and by its bare name, words divided by one space."""
    plain = _plain(_without_heredocs(text))
    interpreter = ""
    for piece in _SEPARATOR.split(plain):
        words = _unwrapped(piece.split())
        if words:
            interpreter = interpreter or (words[0] if _INTERPRETER.match(words[0]) else "")
            yield " ".join(words)
    if interpreter:
        yield from _inside_program(interpreter, re.sub(r"[\[\](),]+", " ", plain))


def _plain(text: str) -> str:
    text = text.replace("\\\r\n", " ").replace("\\\n", " ")
    text = _IFS.sub(" ", text)
    return re.sub(r"\\(?=[A-Za-z0-9/._-])", "", text).replace("'", "").replace('"', "")


def _without_heredocs(text: str) -> str:
    """The text without here-documents, except those on whose line something stands that may run them."""
    if "<<" not in text:
        return text
    kept: list[str] = []
    ends: list[str] = []
    done = at = 0
    while found := _HEREDOC.search(text, at):
        at = found.end()
        if found["end"]:
            ends.append(found["end"])
        elif found["newline"] and ends:
            line = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
            if not _RUNS_ITS_INPUT.search(line):
                kept.append(text[done:at])
                done = at = _after(text, at, ends)
            ends = []
    return "".join((*kept, text[done:]))


def _after(text: str, at: int, ends: list[str]) -> int:
    """Where the text of here-documents with these ends is over."""
    for end in ends:
        found = re.compile(rf"^[ \t]*+{end}[ \t\r]*+(?:\n|\Z)", re.MULTILINE).search(text, at)
        if found is None:
            return len(text)
        at = found.end()
    return at


def _unwrapped(words: list[str]) -> list[str]:
    """The words from the program on."""
    at = 0
    while at < len(words):
        name = words[at].rpartition("/")[2]
        if _ASSIGNMENT.match(words[at]):
            at += 1
        elif name in _WRAPPERS:
            at = _skip_options(words, at + 1)
        elif name in _SHELLS and at + 1 < len(words) and re.match(r"-[a-z]*c$", words[at + 1]):
            at += 2
        else:
            break
    words = words[at:]
    if not words:
        return []
    name = words[0].rpartition("/")[2] or words[0]
    return [name, *(_git_arguments(words[1:]) if name == "git" else words[1:])]


def _skip_options(words: list[str], at: int) -> int:
    """Past a wrapper's own options and bare numbers (`timeout 5`, `nice -n 10`)."""
    while at < len(words) and (words[at].startswith("-") or re.match(r"[0-9.]+[smhd]?$", words[at])):
        at += 1
    return at


def _git_arguments(words: list[str]) -> list[str]:
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _GIT_WITH_VALUE else 1
    return words[at:]


def _inside_program(interpreter: str, flat: str) -> Iterator[str]:
    """The program as one line, and command lines that stand in it as lists of words: `run([git, log, --all])`."""
    yield " ".join([interpreter, *flat.split()])
    begins = [match.start() for match in re.finditer(r"(?:^|\s)(?:git|curl|wget|pip|gh|date|faketime)(?=\s)", flat)]
    for begin, end in zip(begins, [*begins[3:], *[len(flat)] * 3], strict=False):
        yield " ".join(_unwrapped(flat[begin : min(end, begin + 2000)].split()))
