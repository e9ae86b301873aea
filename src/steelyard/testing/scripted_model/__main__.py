"""`python -m steelyard.testing.scripted_model --script FILE`: serve a script until SIGTERM or Ctrl-C."""

import argparse
import json
import os
import signal
import sys
import threading
from pathlib import Path

from steelyard.errors import InputError
from steelyard.testing.scripted_model.script import load_scripts
from steelyard.testing.scripted_model.server import ScriptedModel


def main(argv: list[str] | None = None) -> int:
    """Serve the script; print where as one JSON line."""
    parser = argparse.ArgumentParser(prog="python -m steelyard.testing.scripted_model", description=__doc__)
    parser.add_argument("--script", type=Path, required=True, help="a JSON file with steps")
    parser.add_argument("--port", type=int, default=0, help="the port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--log", type=Path, help="append every request to this file, a JSON object a line")
    options = parser.parse_args(argv)
    done = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: done.set())
    try:
        with ScriptedModel(load_scripts(options.script), options.port, options.log) as model:
            where = {"port": model.port, "url": model.url, "pid": os.getpid()}
            sys.stdout.write(json.dumps(where) + "\n")
            sys.stdout.flush()
            done.wait()
    except (InputError, OverflowError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
