"""Delivering events while the server runs: every worker offers to, and one at a time does, for each sink."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from steelyard.events.configure import make_sinks
from steelyard.events.deliver import Pace, start
from steelyard.wiring import SystemClock, open_sinks

if TYPE_CHECKING:
    from steelyard.settings import Settings
    from steelyard.web.service import Service


def check_sinks(settings: "Settings") -> None:
    """Say what is wrong with the sinks before anything listens."""
    for sink in make_sinks(settings.events, os.environ, SystemClock(), lambda _: None):
        sink.close()


@asynccontextmanager
async def delivering(service: "Service") -> AsyncIterator[None]:
    """Deliver events in the background until the block ends; what is on its way then is finished first."""
    settings = service.options.settings
    sinks = open_sinks(settings, os.environ, service.store)
    deliverer = start(service.store, sinks, SystemClock(), Pace(keep=settings.events_keep))
    try:
        yield
    finally:
        await run_in_threadpool(deliverer.stop)
