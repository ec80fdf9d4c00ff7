"""What is told again only after a while: a log would drown in what goes wrong every moment."""

import math
import time
from collections.abc import Hashable

_MINUTE_S = 60.0


class Seldom:
    """Lets each thing pass once in a while.

    Args:
        every_s: how long nothing equal passes after it, in seconds.
        most: how many things are remembered. One more, and all are forgotten.
    """

    def __init__(self, every_s: float = _MINUTE_S, most: int = 256) -> None:
        self._every_s, self._most = every_s, most
        self._passed_s: dict[Hashable, float] = {}

    def passes(self, thing: Hashable) -> bool:
        """Whether a thing passes now."""
        now_s = time.monotonic()
        if now_s - self._passed_s.get(thing, -math.inf) < self._every_s:
            return False
        if len(self._passed_s) >= self._most:
            self._passed_s.clear()
        self._passed_s[thing] = now_s
        return True
