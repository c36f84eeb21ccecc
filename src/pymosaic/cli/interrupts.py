"""Ctrl-C and SIGTERM: stop, clean up, exit."""

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
    # What cleans up now is not to be interrupted again.
    for name in _SIGNALS:
        signal.signal(name, signal.SIG_IGN)
    raise Interrupted(signal_number)


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise :class:`Interrupted` on Ctrl-C and SIGTERM inside; afterwards, both are ignored.

    What follows is the end of the process, and not worth a traceback.
    """
    # What the parent made us ignore (nohup, a job in the background) stays ignored.
    wanted = [name for name in _SIGNALS if signal.getsignal(name) is not signal.SIG_IGN]
    for name in wanted:
        signal.signal(name, _handle)
    try:
        yield
    finally:
        for name in wanted:
            signal.signal(name, signal.SIG_IGN)
