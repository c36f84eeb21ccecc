"""What versions of Spark can do: tests ask here, and the guide's table is made from it."""

from dataclasses import dataclass

import pyspark

__all__ = ["CAPABILITIES", "VERSION", "VERSIONS", "Capability", "can"]

VERSION = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
# Those that `make test-spark` is run with.
VERSIONS = ((4, 0), (4, 1), (4, 2), (4, 3))


@dataclass(frozen=True, slots=True)
class Capability:
    """Something that Spark can do since a version, and what happens before that."""

    since: tuple[int, int]
    what: str
    before: str


CAPABILITIES = {
    "constraints": Capability(
        (4, 1), "`CHECK` and `PRIMARY KEY` of columns", "Spark's parser refuses them"
    ),
    "time": Capability((4, 1), "`TIME` columns", "Spark has no such type"),
}


def can(name: str) -> bool:
    """Whether this Spark has a capability."""
    return CAPABILITIES[name].since <= VERSION
