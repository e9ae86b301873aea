"""What a server process holds: the store, the guard, the counters, and how a finished run comes in."""

from dataclasses import dataclass

from steelyard.settings import Settings
from steelyard.store.database import Store, open_store
from steelyard.store.quick import QuickReads
from steelyard.store.tokens import token_key
from steelyard.web.auth import Guard
from steelyard.web.auth import now as now
from steelyard.web.intake import Intake
from steelyard.web.metrics import Metrics
from steelyard.web.weighing import Scales

MAX_BODY = 16 * 1024 * 1024
RATE = 1000.0


@dataclass(frozen=True)
class Options:
    """How a server was started; it goes to every worker process as it is."""

    settings: Settings
    host: str = "127.0.0.1"
    rate: float = RATE
    max_body: int = MAX_BODY
    log_json: bool = False


class Service:
    """One server process's parts, opened once and closed when it ends."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.store: Store = open_store(options.settings.store_url, options.settings.artifacts)
        self.database = self.store.database
        self.reads = QuickReads(self.database)
        self.guard = Guard(self.reads, token_key(options.settings.home), options.host, options.rate)
        self.metrics = Metrics(self.store)
        self.scales = Scales(self)
        self.intake = Intake(self)

    def close(self) -> None:
        """Finish what was begun and give all connections back."""
        self.intake.close()
        self.guard.close()
        self.reads.close()
        self.store.close()
