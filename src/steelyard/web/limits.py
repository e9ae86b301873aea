"""Rate limits: a token bucket for each caller, in this process's memory, which is bounded."""

import math
import threading
from collections import OrderedDict

MOST_CALLERS = 10_000


class Buckets:
    """Buckets that hold `burst` and fill at `rate` a second; the caller that was seen longest ago is forgotten first.

    The clock comes in with every call. One that jumps back fills nothing and empties nothing.
    """

    def __init__(self, rate: float, burst: float, most: int = MOST_CALLERS) -> None:
        self.rate = rate
        self.burst = burst
        self.most = most
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, caller: str, now: float, amount: float = 1.0) -> float:
        """Take from a caller's bucket: 0, or how many seconds to wait before there is enough."""
        with self._lock:
            level = self._level(caller, now)
            if level >= amount:
                self._keep(caller, level - amount, now)
                return 0.0
            self._keep(caller, level, now)
            return (amount - level) / self.rate if self.rate > 0 else 60.0

    def is_empty(self, caller: str, now: float) -> float:
        """How many seconds until a caller has one again; 0 when it has."""
        with self._lock:
            level = self._level(caller, now)
        return 0.0 if level >= 1 else (1 - level) / self.rate if self.rate > 0 else 60.0

    def _level(self, caller: str, now: float) -> float:
        level, then = self._levels.get(caller, (self.burst, now))
        return min(self.burst, level + max(0.0, now - then) * self.rate)

    def _keep(self, caller: str, level: float, now: float) -> None:
        self._levels[caller] = (level, now)
        self._levels.move_to_end(caller)
        while len(self._levels) > self.most:
            self._levels.popitem(last=False)


def retry_after(seconds: float) -> dict[str, str]:
    """The header that says when to come back, in whole seconds."""
    return {"Retry-After": str(max(1, math.ceil(seconds)))}
