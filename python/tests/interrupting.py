"""Ctrl-C while something goes on."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def interrupted(after: float = 0.3) -> Iterator[None]:
    """Sends the signal of Ctrl-C during the block, which must end with KeyboardInterrupt."""
    timer = threading.Timer(after, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        yield
    timer.join()
