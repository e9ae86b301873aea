"""steelyard token: make, list and revoke the tokens that open the server."""

import argparse
from dataclasses import asdict
from datetime import UTC, datetime

from steelyard.cli.output import emit_json, note, say
from steelyard.errors import InputError
from steelyard.settings import read_settings

ACTIONS = ("create", "list", "revoke")


def register(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.epilog = (
        "examples:\n  steelyard token create --workspace payments --scope write --expires 30d --name ci\n"
        "  steelyard token list\n  steelyard token revoke 0a1b2c3d4e5f"
    )
    parser.add_argument("action", choices=ACTIONS, help="what to do")
    parser.add_argument("id", nargs="?", metavar="ID", help="revoke: the token's id")
    parser.add_argument("--workspace", metavar="W", help="the one workspace that it opens (default: default)")
    parser.add_argument("--scope", choices=("read", "write", "admin"), help="how far it reaches (default: read)")
    parser.add_argument("--expires", metavar="AGE", help="when it ends: 12h, 30d, 8w (default: never)")
    parser.add_argument("--name", metavar="N", help="what you call it")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def main(args: argparse.Namespace) -> int:
    """Do it."""
    if (args.id is None) == (args.action == "revoke"):
        need = "needs the ID of a token" if args.id is None else "takes no ID"
        raise InputError(f"token {args.action} {need}; `steelyard token list` shows them")
    for option in ("scope", "expires", "name"):
        if args.action != "create" and getattr(args, option) is not None:
            raise InputError(f"--{option} goes with token create only")
    return {"create": _create, "list": _list, "revoke": _revoke}[args.action](args)


def _create(args: argparse.Namespace) -> int:
    from steelyard.store.database import open_store
    from steelyard.store.tokens import Wanted, add_token, make_token, token_key

    settings = read_settings()
    wanted = Wanted(args.workspace or "default", args.name or "unnamed", args.scope or "read", args.expires)
    try:
        text, row = make_token(wanted, datetime.now(UTC))
    except InputError as error:
        raise InputError(f"--{error}") from None  # its message begins with the field, which is the option's name
    with open_store(settings.store_url, settings.artifacts) as store:
        add_token(store.database, token_key(settings.home), text, row)
    if args.json:
        emit_json({"token": text, **asdict(row)})
        return 0
    say(text)
    ends = f", until {row.expires_at[:16]}Z" if row.expires_at else ""
    note(f"token {row.id}: {row.scope} in workspace {row.workspace}{ends}. It is shown this once; keep it now.")
    return 0


def _list(args: argparse.Namespace) -> int:
    from steelyard.cli.stored import open_existing
    from steelyard.cli.table import print_table
    from steelyard.store.rows import instant
    from steelyard.store.tokens import list_tokens

    with open_existing() as store:
        tokens = list_tokens(store.database, args.workspace)
    now = instant(datetime.now(UTC).isoformat())
    if args.json:
        emit_json({"tokens": [{**asdict(token), "usable": token.is_usable(now)} for token in tokens]})
        return 0
    if not tokens:
        note("there is no token yet; steelyard token create makes one")
        return 0
    rows = []
    for token in tokens:
        state = "revoked" if token.revoked_at else "usable" if token.is_usable(now) else "expired"
        times = [(text or "-")[:16] for text in (token.created_at, token.expires_at, token.last_used_at)]
        rows.append((token.id, token.name, token.workspace, token.scope, state, *times))
    print_table(("id", "name", "workspace", "scope", "state", "created", "expires", "last used"), rows)
    return 0


def _revoke(args: argparse.Namespace) -> int:
    from steelyard.cli.stored import open_existing
    from steelyard.store.rows import instant
    from steelyard.store.tokens import revoke_token

    with open_existing() as store:
        token = revoke_token(store.database, args.id, at=instant(datetime.now(UTC).isoformat()))
    if args.json:
        emit_json(asdict(token))
    else:
        say(f"token {token.id} ({token.name}) opens nothing any more")
    return 0
