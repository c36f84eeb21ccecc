"""The map in docs/architecture.md names every module, and nothing that is not there.

Tables of the map begin with "module", or "module of" a package. A name that ends in a slash is a
package: the names after it in its cell are its modules; alone, it stands for all of them.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
TABLE = re.compile(r"^\| module(?: of `([\w/]+)/`)? \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", re.MULTILINE)
NAME = re.compile(r"`([\w/]+)`")
SUFFIXES = (".py", ".pyx", ".java")


def rooted(path: str) -> str:
    """A path below src: the map leaves out `pymosaic`, unless it is about another package."""
    return path if (SOURCE / path).is_dir() else f"pymosaic/{path}"


def read_map(page: str) -> tuple[list[str], list[str]]:
    """The modules on the page, and the packages that are named as a whole."""
    modules: list[str] = []
    packages: list[str] = []
    for table in TABLE.finditer(page):
        for row in table[2].splitlines():
            package = table[1] or ""
            is_named_whole = False
            for name in NAME.findall(row.split("|")[1]):
                if name.endswith("/"):
                    packages += [rooted(package)] * is_named_whole
                    package = f"{table[1] or ''}/{name}".strip("/")
                    is_named_whole = True
                else:
                    modules.append(rooted(f"{package}/{name}".strip("/")))
                    is_named_whole = False
            packages += [rooted(package)] * is_named_whole
    return modules, packages


MODULES, PACKAGES = read_map(PAGE)


def tree() -> set[str]:
    """All modules below src, without their suffixes."""
    return {
        path.relative_to(SOURCE).with_suffix("").as_posix()
        for path in SOURCE.rglob("*")
        if path.suffix in SUFFIXES
    }


def test_every_module_is_on_the_map() -> None:
    missing = {
        module
        for module in tree() - set(MODULES)
        if not PurePosixPath(module).name.startswith("__")
        and PurePosixPath(module).parent.as_posix() not in PACKAGES
    }
    assert missing == set()


def test_every_name_on_the_map_exists() -> None:
    assert set(MODULES) - tree() == set()
    assert [package for package in PACKAGES if not (SOURCE / package).is_dir()] == []


def test_no_name_is_on_the_map_twice() -> None:
    assert [name for name, count in Counter(MODULES + PACKAGES).items() if count > 1] == []


def test_a_map_is_read_as_it_is_meant() -> None:
    page = (
        "| module of `spark/` | owns |\n|---|---|\n"
        "| `api`, `types` | `not_this` |\n| `java/` `MosaicScans` | |\n| `a/`, `b/` | |\n"
    )
    assert read_map(page) == (
        ["pymosaic/spark/api", "pymosaic/spark/types", "pymosaic/spark/java/MosaicScans"],
        ["pymosaic/spark/a", "pymosaic/spark/b"],
    )
