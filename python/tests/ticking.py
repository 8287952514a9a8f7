"""Another thread of Python, to see whether it goes on while a run does."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ticking() -> Iterator[list[float]]:
    """A list of times, one for each millisecond at which another thread could run Python during the block."""
    ticks: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    began = time.perf_counter()
    try:
        yield ticks
    finally:
        ended = time.perf_counter()
        done.set()
        thread.join()
        ticks[:] = [t for t in ticks if began < t < ended]
