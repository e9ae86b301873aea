"""steelyard serve: the HTTP API and the web pages."""

import argparse
import json

from steelyard.cli.output import answer, note
from steelyard.errors import InputError
from steelyard.settings import read_settings

PORT = 8321


def register(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.epilog = "example: steelyard serve --port 8321"
    parser.add_argument("--host", default="127.0.0.1", metavar="H", help="where to listen (default: this machine only)")
    parser.add_argument("--port", type=int, default=PORT, metavar="N", help=f"the port ({PORT}); 0 takes a free one")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="server processes, 1 to 64 (1)")
    parser.add_argument("--rate", type=float, metavar="N", help="requests a second for each token (1000; 0: no limit)")
    parser.add_argument("--max-body-mb", type=int, metavar="N", help="the largest request body in MB (16)")
    parser.add_argument(
        "--log-json", action="store_true", help="logs as JSON lines on stderr, one for each request too"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document when it listens: its address")


def main(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    for option, number, allowed in (
        ("--port", args.port, range(65_536)),
        ("--workers", args.workers, range(1, 65)),
        ("--max-body-mb", args.max_body_mb, range(1, 1025)),
    ):
        if number is not None and number not in allowed:
            raise InputError(f"{option} {number}: allowed: {allowed[0]} to {allowed[-1]}")
    if args.rate is not None and not 0 <= args.rate <= 1e6:
        raise InputError(f"--rate {args.rate:g}: allowed: 0 to 1000000")
    try:
        from steelyard.web.delivery import check_sinks
        from steelyard.web.service import MAX_BODY, RATE, Options
        from steelyard.web.serving import listen, prepare, serve
    except ImportError as error:
        raise InputError(f"serve needs the extra (no module {error.name}): pip install 'steelyard[server]'") from None

    options = Options(
        settings=read_settings(),
        host=args.host,
        rate=RATE if args.rate is None else args.rate,
        max_body=MAX_BODY if args.max_body_mb is None else args.max_body_mb * 1024 * 1024,
        log_json=args.log_json,
    )
    prepare(options)
    check_sinks(options.settings)
    bound = listen(args.host, args.port)
    host, port = bound.getsockname()[:2]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    if args.json:
        answer(json.dumps({"url": url, "workers": args.workers}) + "\n", now=True)
    else:
        note(f"listening on {url}; Ctrl-C ends it")
    serve(options, bound, args.workers)
    return 0
