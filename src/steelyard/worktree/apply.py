"""Applies one file's part of a patch exactly: no fuzz, no guessing, and the result must have the promised hash."""

import base64
import zlib

from steelyard.errors import InputError
from steelyard.worktree.entry import HEAD, object_id
from steelyard.worktree.patch import Section


def applied(section: Section, before: bytes) -> bytes:
    """What a file's content becomes; raises `InputError` when the patch was made for another content."""
    try:
        if section.binary is not None:
            after = _binary(section.binary, before)
        else:
            after = _text(section.hunks, before) if section.hunks else before
    except (ValueError, IndexError, zlib.error) as error:
        raise InputError(f"the patch does not fit {section.new_path!r}: {error}") from error
    if len(section.new_id) == 40 and object_id(after, "sha1") != section.new_id:
        raise InputError(f"the patch does not fit {section.new_path!r}: the result has another hash than it promises")
    return after


def _lines(data: bytes) -> list[bytes]:
    *lines, last = data.split(b"\n")
    return [line + b"\n" for line in lines] + ([last] if last else [])


def _text(hunks: bytes, before: bytes) -> bytes:
    old = _lines(before)
    out: list[bytes] = []
    at = 0
    for hunk in (b"\n" + hunks).split(b"\n@@ -")[1:]:
        head, _, body = hunk.partition(b"\n")
        place, _, count = head.split(b" ", 1)[0].partition(b",")
        start = int(place) if count == b"0" else int(place) - 1
        out += old[at:start]
        at = start
        rows = body.split(b"\n")
        for number, row in enumerate(rows):
            if row.startswith(b"\\"):
                continue
            open_ended = rows[number + 1 : number + 2] and rows[number + 1].startswith(b"\\")
            line = row[1:] if open_ended else row[1:] + b"\n"
            if row[:1] in (b" ", b"-"):
                if at >= len(old) or old[at] != line:
                    raise ValueError(f"line {at + 1} is another than the patch expects")
                at += 1
            if row[:1] in (b" ", b"+"):
                out.append(line)
    return b"".join(out + old[at:])


def _binary(body: bytes, before: bytes) -> bytes:
    head, _, rest = body.partition(b"\n")
    kind, _, size = head.partition(b" ")
    packed = bytearray()
    for row in rest.split(b"\n"):
        if not row:
            break  # what follows is the way back
        length = row[0] - 64 if row[0] <= 90 else row[0] - 70
        packed += base64.b85decode(row[1:])[:length]
    wanted = int(size)
    if wanted > HEAD:
        raise ValueError("a binary part is larger than any that is ever stored")
    data = zlib.decompressobj().decompress(bytes(packed), wanted + 1)
    if len(data) != wanted:
        raise ValueError("a binary part has another length than it says")
    return data if kind == b"literal" else _delta(data, before)


def _delta(delta: bytes, before: bytes) -> bytes:
    """Git's delta: copies from the old content and new pieces."""
    _, at = _size(delta, 0)
    wanted, at = _size(delta, at)
    out = bytearray()
    while at < len(delta):
        code = delta[at]
        at += 1
        if not code & 0x80:
            out += delta[at : at + code]
            at += code
            continue
        fields = []
        for bit in range(7):
            if code & (1 << bit):
                fields.append(delta[at])
                at += 1
            else:
                fields.append(0)
        start = int.from_bytes(bytes(fields[:4]), "little")
        out += before[start : start + (int.from_bytes(bytes(fields[4:]), "little") or 0x10000)]
    if len(out) != wanted:
        raise ValueError("a delta gives another length than it says")
    return bytes(out)


def _size(delta: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = delta[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at
