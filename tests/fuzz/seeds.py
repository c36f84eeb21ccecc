"""What a run starts from: the fixtures and the malformed files, as they are and as recipes.

Files that pylance wrote are the seeds of the target ``lance``.
"""

from __future__ import annotations

from random import Random

from tests.conformance.fixtures import DATA, FIXTURES
from tests.fuzz.annex_recipe import annex_seeds
from tests.fuzz.lance_recipe import take_lance_apart
from tests.fuzz.recipe import take_apart, whole
from tests.lance.golden_files import NAMES as GOLDEN_NAMES
from tests.lance.golden_files import golden_bytes

REGRESSIONS = DATA / "fuzz"
# A run over a large file takes as long as over a hundred small ones and finds no more.
_MAX_BYTES = 20_000
_WRITE_SEEDS = 64


def seeds(target: str) -> list[bytes]:
    """Inputs for a target, smallest first; what was once found comes first of all."""
    found = [path.read_bytes() for path in regressions(target)]
    if target == "write":
        random = Random(0)
        return found + [
            random.randbytes(random.choice((30, 200, 1000))) for _ in range(_WRITE_SEEDS)
        ]
    if target == "annex":
        return found + annex_seeds()
    if target == "lance":
        goldens = sorted((golden_bytes(name) for name in GOLDEN_NAMES), key=len)
        goldens = [data for data in goldens if len(data) <= _MAX_BYTES]
        recipes = [whole(data[: len(data) // 2]) for data in goldens[:4]]
        for data in goldens:
            recipes += [whole(data), take_lance_apart(data)]
        return found + sorted({each for each in recipes if len(each) <= _MAX_BYTES}, key=len)
    files = [path.read_bytes() for path in sorted((DATA / "malformed").glob("*.mosaic"))]
    recipes = [whole(data) for data in files]
    for fixture in FIXTURES:
        recipes += [whole(fixture.data), take_apart(fixture.data)]
    return found + sorted({each for each in recipes if len(each) <= _MAX_BYTES}, key=len)


def regressions(target: str) -> list:
    """Files of inputs that once did what they must not."""
    return sorted(REGRESSIONS.glob(f"{target}-*"))
