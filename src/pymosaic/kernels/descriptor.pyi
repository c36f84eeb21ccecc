"""A file descriptor with an owner from the moment it is there."""

from collections.abc import Callable

class Descriptor:
    def __init__(
        self, opener: Callable[[str, int, int], int], path: str, flags: int, mode: int = ...
    ) -> None: ...
    @property
    def number(self) -> int: ...
