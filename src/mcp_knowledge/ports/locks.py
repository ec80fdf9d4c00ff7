"""Agreement between processes on who does what."""

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from typing import Protocol


class Locks(Protocol):
    """Locks with names among all processes that share a database. They end with the process, however it ends.

    The part of a name before the first `/` is its kind.
    """

    def held(self, name: str) -> AbstractAsyncContextManager[bool]:
        """Hold a lock while the block runs if it is free; whether it is. Should it get lost meanwhile, the block is
        cancelled.

        Raises:
            KnowledgeError: SERVICE_UNAVAILABLE when it cannot be told, or the lock was lost.
        """
        ...

    async def keep(self, name: str) -> None:
        """Hold a lock that nobody else wants until `drop`; it is taken anew when it gets lost."""
        ...

    async def drop(self, name: str) -> None:
        """Give back what `keep` holds."""
        ...

    async def free(self, names: Iterable[str]) -> set[str]:
        """Those that certainly nobody holds."""
        ...

    async def anybody_holds(self, kind: str) -> bool:
        """Whether some process holds a lock of this kind."""
        ...
