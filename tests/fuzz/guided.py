"""One process of guided fuzzing: atheris on a target, with coverage of Python and of the kernels.

``tests.fuzz`` starts it; by hand: ``python -m tests.fuzz.guided read counts.json [libFuzzer
options] corpus``. The kernels report their branches if they were built for that.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import sys
from pathlib import Path
from random import Random

import atheris

_COUNT_EVERY = 200


def _load_bridge() -> ctypes.CDLL | None:
    """What kernels built with PYMOSAIC_COVERAGE=1 call at every branch; before they are loaded."""
    library = os.environ.get("PYMOSAIC_COVERAGE_LIBRARY")
    return None if library is None else ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)


def _connect(bridge: ctypes.CDLL | None) -> None:
    """Pass what the kernels tell on to the libFuzzer inside atheris."""
    if bridge is None:
        return
    core = importlib.import_module("atheris.core_with_libfuzzer").__file__
    assert core is not None
    if not bridge.tell_libfuzzer(os.fsencode(core)):
        raise SystemExit(f"there is no libFuzzer in {core}")


def main() -> None:
    name, counts_path, *options = sys.argv[1:]
    planned = max((int(each[6:]) for each in options if each.startswith("-runs=")), default=0)
    bridge = _load_bridge()
    with atheris.instrument_imports(include=["pymosaic"], enable_loader_override=False):
        import pymosaic.filters.tuples
        import pymosaic.lance  # noqa: F401
    from tests.fuzz.mutation import cross, mutate
    from tests.fuzz.targets import TARGETS

    target = TARGETS[name]
    counts = {"executions": 0, "accepted": 0, "refused": 0, "findings": 0}

    def keep_counts() -> None:
        Path(counts_path).write_text(json.dumps({**counts, "kernels": bridge is not None}))

    def run(data: bytes) -> None:
        counts["executions"] += 1
        try:
            counts[target(data)] += 1
        except BaseException:
            counts["findings"] += 1
            keep_counts()
            raise
        if counts["executions"] % _COUNT_EVERY == 0 or counts["executions"] >= planned:
            keep_counts()

    def change(data: bytes, max_size: int, seed: int) -> bytes:
        room = max(1, max_size - len(data))
        changed = mutate(data, Random(seed), lambda part: atheris.Mutate(part, len(part) + room))
        return changed[:max_size]

    def join(left: bytes, right: bytes, max_size: int, seed: int) -> bytes:
        return cross(left, right, Random(seed))[:max_size]

    of_recipes = {} if name == "write" else {"custom_mutator": change, "custom_crossover": join}
    _connect(bridge)
    atheris.Setup([sys.argv[0], *options], run, **of_recipes)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
