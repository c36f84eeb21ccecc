"""Handling of Ctrl-C and SIGTERM: stop, clean up, exit."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Interrupted", "interruptible"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(BaseException):
    """The process was asked to stop; every ``with`` on the way out cleans up."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(signal_number)
        self.signal_number = signal_number


def _handle(signal_number: int, frame: FrameType | None) -> None:
    # The cleanup must not be interrupted again.
    for name in _SIGNALS:
        signal.signal(name, signal.SIG_IGN)
    raise Interrupted(signal_number)


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise :class:`Interrupted` on Ctrl-C and SIGTERM in the block; afterwards, ignore both.

    After the block the process only exits, and an interrupt would just print a traceback.
    """
    # Signals that the parent process set to be ignored (nohup, background jobs) stay ignored.
    wanted = [name for name in _SIGNALS if signal.getsignal(name) is not signal.SIG_IGN]
    for name in wanted:
        signal.signal(name, _handle)
    try:
        yield
    finally:
        for name in wanted:
            signal.signal(name, signal.SIG_IGN)
