"""Fuzzing without an engine: changed seeds, the same for the same seed number, everywhere.

It knows nothing of coverage but needs nothing either: it runs in the test suite, and on kernels
with sanitizers, whose runtime and libFuzzer's do not go together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.fuzz.mutation import cross, mutate, mutate_bytes
from tests.fuzz.seeds import seeds
from tests.fuzz.targets import TARGETS

# Targets whose input has no structure of a file's recipe.
_BYTES = ("write", "annex")


def run(target: str, seed: int, runs: int, keep: Callable[[bytes], Path]) -> Counter[str]:
    """Count outcomes; an input that raises is kept, and its exception says where."""
    function = TARGETS[target]
    random = Random(f"{target} {seed}")
    inputs = seeds(target)
    counts: Counter[str] = Counter()
    for _ in range(runs):
        data = _change(random.choice(inputs), inputs, random, is_recipe=target not in _BYTES)
        try:
            counts[function(data)] += 1
        except Exception as error:
            error.add_note(f"the input is in {keep(data)}")
            raise
    return counts


def _change(data: bytes, inputs: list[bytes], random: Random, is_recipe: bool) -> bytes:
    if not is_recipe:
        return mutate_bytes(data, random)
    if random.random() < 0.1:
        data = cross(data, random.choice(inputs), random)
    for _ in range(random.choice((1, 1, 2, 4))):
        data = mutate(data, random, lambda part: mutate_bytes(part, random))
    return data
