"""The hand-written stubs name what the compiled kernels have, no more and no less."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

from pymosaic import kernels
from pymosaic.pages import kernels as page_kernels

PACKAGES = {
    package.__name__: Path(str(package.__file__)).parent for package in (kernels, page_kernels)
}
SOURCES = sorted(
    f"{package}.{path.stem}"
    for package, directory in PACKAGES.items()
    for path in directory.glob("*.pyx")
)
IMPORT = re.compile(r"^(?:from \S+ )?import (?:\([^)]*\)|.*)", re.MULTILINE)
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def compiled(name: str) -> ModuleType:
    return importlib.import_module(name)


def source(name: str, suffix: str) -> str:
    package, _, module = name.rpartition(".")
    return (PACKAGES[package] / f"{module}{suffix}").read_text()


def stub(name: str) -> ast.Module:
    return ast.parse(source(name, ".pyi"))


def is_public(name: str) -> bool:
    # Double underscores are Cython's and object's own, except for Arrow's protocols.
    return not name.startswith("_") or name.startswith("__arrow_c_")


def stub_names(body: list[ast.stmt]) -> set[str]:
    names: set[str] = set()
    for statement in body:
        if isinstance(statement, ast.ClassDef | FUNCTIONS):
            names.add(statement.name)
        elif isinstance(statement, ast.AnnAssign):
            names.add(ast.unparse(statement.target))
        elif isinstance(statement, ast.Assign):
            names.update(ast.unparse(target) for target in statement.targets)
    return {name for name in names if is_public(name)}


def imported_names(name: str) -> set[str]:
    """What a .pyx imports (not cimports), which its compiled module then has too."""
    imports = ast.parse("\n".join(IMPORT.findall(source(name, ".pyx")))).body
    return {
        alias.asname or alias.name
        for statement in imports
        if isinstance(statement, ast.Import | ast.ImportFrom)
        for alias in statement.names
    }


def own_names(name: str) -> set[str]:
    """Public names of a compiled module that it did not import."""
    return set(filter(is_public, dir(compiled(name)))) - imported_names(name)


def stub_parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[tuple[str, bool]]:
    """Name of each parameter and whether it has a default."""
    arguments = function.args.posonlyargs + function.args.args
    required = len(arguments) - len(function.args.defaults)
    return [(argument.arg, index >= required) for index, argument in enumerate(arguments)]


def parameters(function: object) -> list[tuple[str, bool]]:
    assert callable(function)
    return [
        (parameter.name, parameter.default is not inspect.Parameter.empty)
        for parameter in inspect.signature(function).parameters.values()
    ]


def assert_same_parameters(body: list[ast.stmt], owner: object) -> None:
    for statement in body:
        # The arguments of __init__ are those of __cinit__, which has no signature at run time.
        if not isinstance(statement, FUNCTIONS) or not is_public(statement.name):
            continue
        if not statement.decorator_list:
            assert stub_parameters(statement) == parameters(getattr(owner, statement.name))


def test_every_kernel_has_a_stub_and_every_stub_a_kernel() -> None:
    for directory in PACKAGES.values():
        names = sorted(path.stem for path in directory.glob("*.pyx"))
        assert names
        assert sorted(path.stem for path in directory.glob("*.pyi")) == names


@pytest.mark.parametrize("name", SOURCES)
def test_a_stub_names_what_its_module_defines(name: str) -> None:
    assert stub_names(stub(name).body) == own_names(name)


@pytest.mark.parametrize("name", SOURCES)
def test_a_class_in_a_stub_has_the_members_of_the_compiled_one(name: str) -> None:
    for statement in stub(name).body:
        if isinstance(statement, ast.ClassDef):
            members = vars(getattr(compiled(name), statement.name))
            assert stub_names(statement.body) == set(filter(is_public, members))


@pytest.mark.parametrize("name", SOURCES)
def test_functions_in_a_stub_take_the_parameters_of_the_compiled_ones(name: str) -> None:
    module = compiled(name)
    assert_same_parameters(stub(name).body, module)
    for statement in stub(name).body:
        if isinstance(statement, ast.ClassDef):
            assert_same_parameters(statement.body, getattr(module, statement.name))


@pytest.mark.parametrize("name", SOURCES)
def test_read_only_attributes_are_properties_in_a_stub(name: str) -> None:
    for statement in stub(name).body:
        if not isinstance(statement, ast.ClassDef):
            continue
        members = vars(getattr(compiled(name), statement.name))
        properties = {
            member.name
            for member in statement.body
            if isinstance(member, FUNCTIONS) and member.decorator_list
        }
        data = {key for key, value in members.items() if inspect.isgetsetdescriptor(value)}
        assert properties == set(filter(is_public, data))
