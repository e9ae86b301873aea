"""steelyard events: deliver events to their sinks, show what waits, stop waiting for a sink."""

import argparse
import os
import signal
import threading
from dataclasses import asdict
from typing import TYPE_CHECKING

from steelyard.cli.output import emit_json, note, say
from steelyard.errors import InputError
from steelyard.settings import read_settings

if TYPE_CHECKING:
    from steelyard.events.base import Sink
    from steelyard.settings import Settings
    from steelyard.store.database import Store
    from steelyard.store.sinks import SinkState

ACTIONS = ("deliver", "status", "forget")


def register(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.epilog = (
        "examples:\n  steelyard events status\n  STEELYARD_EVENTS=jsonl:events.jsonl steelyard events deliver --once"
    )
    parser.add_argument("action", choices=ACTIONS, help="deliver what waits, show it, or stop waiting for a sink")
    parser.add_argument("sink", nargs="?", metavar="SINK", help="forget: the sink's name, as status shows it")
    parser.add_argument("--once", action="store_true", help="deliver: what waits now, then end")
    parser.add_argument("--log-json", action="store_true", help="deliver: logs as JSON lines on stderr")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def main(args: argparse.Namespace) -> int:
    """Do it; `deliver --once` leaves with 3 when a sink did not take everything."""
    from steelyard.cli.stored import open_existing

    if (args.sink is None) == (args.action == "forget"):
        need = "needs a SINK; `steelyard events status` names them" if args.sink is None else "takes no SINK"
        raise InputError(f"events {args.action} {need}")
    settings = read_settings()
    with open_existing() as store:
        if args.action == "status":
            return _status(store, args)
        if args.action == "forget":
            return _forget(store, args)
        return _deliver(settings, store, args)


def _states(store: "Store") -> "list[SinkState]":
    from steelyard.wiring import SystemClock

    return store.sink_states(SystemClock().now().timestamp())


def _status(store: "Store", args: argparse.Namespace) -> int:
    states, kept = _states(store), store.queue_size()
    if args.json:
        emit_json({"kept": kept, "sinks": [asdict(state) for state in states]})
        return 0
    say(f"{kept} events are kept")
    if not states:
        say("no sink has ever been delivered to; STEELYARD_EVENTS names them")
    for state in states:
        who = "being delivered to" if state.held else "nobody delivers to it now"
        say(f"{state.name}: {state.queue} waiting, {state.delivered} delivered, {who}")
        if state.dropped or state.refused:
            say(f"  {state.dropped} dropped because too many waited, {state.refused} refused by it")
        if state.last_error:
            say(f"  failing, {state.failures} times in a row: {state.last_error}")
    return 0


def _forget(store: "Store", args: argparse.Namespace) -> int:
    if not store.forget_sink(args.sink):
        known = ", ".join(state.name for state in _states(store)) or "none"
        raise InputError(f"no sink {args.sink[:80]!r} is known; known: {known}")
    if args.json:
        emit_json({"forgotten": args.sink})
    else:
        say(f"nothing waits for {args.sink} any more")
    return 0


def _deliver(settings: "Settings", store: "Store", args: argparse.Namespace) -> int:
    from steelyard.events.deliver import Pace, deliver_once
    from steelyard.events.logs import configure
    from steelyard.wiring import SystemClock, open_sinks

    sinks = open_sinks(settings, os.environ, store)
    if not sinks:
        raise InputError("there is nowhere to deliver to; set STEELYARD_EVENTS, for example jsonl:events.jsonl")
    if args.log_json or not args.once:
        configure(as_json=args.log_json)
    if not args.once:
        return _deliver_on(settings, store, sinks)
    tallies = deliver_once(store, sinks, SystemClock(), Pace(keep=settings.events_keep))
    if args.json:
        emit_json({"sinks": [{"name": name, **asdict(tally)} for name, tally in tallies.items()]})
    else:
        for name, tally in tallies.items():
            say(f"{name}: {tally.delivered} delivered" + (f", then {tally.last_error}" if tally.last_error else ""))
    return 3 if any(tally.last_error for tally in tallies.values()) else 0


def _deliver_on(settings: "Settings", store: "Store", sinks: "list[Sink]") -> int:
    """Deliver until SIGINT or SIGTERM."""
    from steelyard.events.deliver import Pace, start
    from steelyard.wiring import SystemClock

    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    deliverer = start(store, sinks, SystemClock(), Pace(keep=settings.events_keep))
    note(f"delivering to {', '.join(sink.name for sink in sinks)}; Ctrl-C ends it")
    ended.wait()
    deliverer.stop()
    return 0
