"""What the C library keeps of memory that is no longer used."""

import ctypes
import os

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h of glibc
_LARGE_BYTES = 128 * 1024  # where glibc begins as well


def give_memory_back() -> None:
    """Let large pieces of memory go back to the system as soon as they are free.

    glibc raises its threshold for them, up to 32 MiB, whenever a larger piece is freed (mallopt(3)). From then on what
    a burst of large answers needed stays with the process, in pieces, for as long as it runs: setting the thresholds
    stops that. Whoever has set them in the environment is left alone; other C libraries know none.
    """
    if "GLIBC_TUNABLES" in os.environ or any(name.startswith("MALLOC_") for name in os.environ):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
        mallopt(_M_TRIM_THRESHOLD, _LARGE_BYTES)
