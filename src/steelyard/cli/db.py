"""steelyard db: bring the store's schema up to date, check it, back it up, restore it."""

import argparse
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli.output import emit_json, note, say
from steelyard.errors import InputError
from steelyard.settings import read_settings

if TYPE_CHECKING:
    from steelyard.store.connection import Database

ACTIONS = ("upgrade", "check", "backup", "restore")


def register(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.epilog = "examples:\n  steelyard db check --deep\n  steelyard db backup steelyard-backup.tar"
    parser.add_argument("action", choices=ACTIONS, help="what to do with the store")
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE", help="the backup file, for backup and restore")
    parser.add_argument("--deep", action="store_true", help="check: read every artifact and compare its sha256")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def main(args: argparse.Namespace) -> int:
    """Do it; `check` leaves with 1 when it finds a problem."""
    if (args.file is None) == (args.action in ("backup", "restore")):
        need = "needs a FILE" if args.file is None else "takes no FILE"
        raise InputError(f"db {args.action} {need}; example: steelyard db backup steelyard-backup.tar")
    actions = {"upgrade": _upgrade, "check": _check, "backup": _backup, "restore": _restore}
    return actions[args.action](args)


def _open(*, must_exist: bool = True, upgrade: bool = True) -> "Database":
    from steelyard.store.connection import open_database

    settings = read_settings()
    return open_database(settings.store_url, settings.artifacts, must_exist=must_exist, upgrade=upgrade)


def _upgrade(args: argparse.Namespace) -> int:
    from steelyard.store.connection import ensure_schema

    database = _open(must_exist=False, upgrade=False)
    try:
        before = database.version()
        ensure_schema(database, migrate=True)
        after = database.version()
    finally:
        database.close()
    if args.json:
        emit_json({"from": before, "to": after})
    else:
        say(f"the schema is {after}" + (", as before" if before == after else f"; it was {before or 'not there'}"))
    return 0


def _check(args: argparse.Namespace) -> int:
    from steelyard.store.check import check

    database = _open(upgrade=False)
    try:
        health = check(database, deep=args.deep)
    finally:
        database.close()
    if args.json:
        emit_json(asdict(health))
    else:
        say(f"schema {health.schema_version}, {health.runs} runs, {health.artifacts} artifacts")
        for problem in health.problems:
            say(f"problem: {problem}")
        if not health.problems:
            say("all is well" + ("" if args.deep else "; --deep reads every artifact too"))
    return 1 if health.problems else 0


def _backup(args: argparse.Namespace) -> int:
    from steelyard.store.backup import backup

    database = _open()
    try:
        head = backup(database, args.file.absolute(), created_at=datetime.now(UTC).isoformat())
    finally:
        database.close()
    _told(args, head, f"wrote {args.file}")
    return 0


def _restore(args: argparse.Namespace) -> int:
    from steelyard.store.backup import restore

    if not args.file.is_file():
        raise InputError(f"there is no backup {args.file}")
    database = _open(must_exist=False)
    try:
        head = restore(database, args.file)
    finally:
        database.close()
    _told(args, head, f"restored {args.file}")
    return 0


def _told(args: argparse.Namespace, head: dict[str, object], what: str) -> None:
    if args.json:
        emit_json({"file": str(args.file), **head})
        return
    rows = head["rows"]
    say(f"{what}: {rows['runs'] if isinstance(rows, dict) else 0} runs")
    note(f"made {head['created_at']}")
