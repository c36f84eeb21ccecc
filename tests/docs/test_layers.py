"""No module knows one of a layer above its own, and no imports run in a circle.

The layers are the rows of the table in docs/architecture.md that begins with "layer", from the
bottom up. Imports inside functions and under ``TYPE_CHECKING`` count, and so do those of kernels.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "pymosaic"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
TABLE = re.compile(r"^\| layer \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", re.MULTILINE)
KERNEL_IMPORT = re.compile(
    r"^\s*(?:from (pymosaic[\w.]*) c?import ([\w, ]+)|c?import (pymosaic[\w.]*))", re.MULTILINE
)


def read_layers(page: str) -> list[list[str]]:
    """The names of each layer, from the bottom up."""
    table = TABLE.search(page)
    assert table is not None
    return [re.findall(r"`(\w+)/?`", row.split("|")[1]) for row in table[1].splitlines()]


LAYERS = read_layers(PAGE)
LEVELS = {name: level for level, names in enumerate(LAYERS) for name in names}


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


# What starts programs (`python -m`) may import anything, and nothing imports it.
MODULES = {
    name_of(path): path
    for path in PACKAGE.rglob("*")
    if path.suffix in (".py", ".pyx") and path.stem != "__main__"
}


def imports_of(path: Path) -> set[str]:
    """The modules of the package that a module imports, anywhere in it."""
    text = path.read_text(encoding="utf-8")
    found: set[tuple[str, str]] = set()
    if path.suffix == ".pyx":
        for module, names, whole in KERNEL_IMPORT.findall(text):
            found |= (
                {(module, name.strip()) for name in names.split(",")} if module else {(whole, "")}
            )
    else:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pymosaic"):
                assert node.level == 0
                found |= {(node.module or "", name.name) for name in node.names}
            elif isinstance(node, ast.Import):
                found |= {(name.name, "") for name in node.names}
    modules = {
        f"{module}.{name}" if f"{module}.{name}" in MODULES else module for module, name in found
    }
    return (modules & MODULES.keys()) - {name_of(path)}


IMPORTS = {name: imports_of(path) for name, path in MODULES.items()}


def layer_of(module: str) -> str:
    """The package or module right below `pymosaic` that a module is in."""
    return module.split(".")[1] if "." in module else module


def test_every_package_has_a_layer() -> None:
    assert {layer_of(module) for module in MODULES} == LEVELS.keys()


def test_no_module_knows_a_layer_above_its_own() -> None:
    upward = sorted(
        f"{module} -> {imported}"
        for module, found in IMPORTS.items()
        for imported in found
        if layer_of(imported) != layer_of(module)
        and LEVELS[layer_of(imported)] >= LEVELS[layer_of(module)]
    )
    assert upward == []


def test_no_imports_run_in_a_circle() -> None:
    # A package is imported before its modules are; what it takes from them is no circle.
    graph = {
        module: {name for name in found if not module.startswith(f"{name}.")}
        for module, found in IMPORTS.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None


def test_layers_are_read_as_they_are_meant() -> None:
    page = "| layer | knows |\n|---|---|\n| `errors`, `limits` | x |\n| `format/` | `no` |\n\n"
    assert read_layers(page) == [["errors", "limits"], ["format"]]


def test_no_two_public_classes_have_one_name() -> None:
    found = Counter(
        name
        for module, path in MODULES.items()
        if not module.startswith("pymosaic.compat.")  # which has the names of others
        for name in re.findall(
            r"^(?:cdef )?class ([A-Z]\w*)", path.read_text(encoding="utf-8"), re.MULTILINE
        )
    )
    assert [name for name, count in found.items() if count > 1] == []
