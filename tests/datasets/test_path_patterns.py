"""Patterns of paths, as regular expressions see them."""

import pytest

from pymosaic.datasets.path_patterns import PathPattern, name_pattern
from pymosaic.errors import InvalidOptionError


@pytest.mark.parametrize(
    ("pattern", "path", "root"),
    [
        ("d/k={1,2}", "d/k=2/x", "d/k=2"),
        ("d/k={1,2}", "d/k=3/x", None),
        ("d/{a,b{c,d}}/*", "d/bd/x/y", "d/bd/x"),
        ("d/{a/b,c}/x", "d/a/b/x", "d/a/b/x"),
        ("d/{a/b,c}/x", "d/c/x", "d/c/x"),
        ("d/[{]x", "d/{x", "d/{x"),
        ("d/[^0]*", "d/1x/y", "d/1x"),
        ("d/[^0]*", "d/0x/y", None),
        (r"d/\*?", "d/*a", "d/*a"),
        (r"d/\*?", "d/ba", None),
        ("{a,b}/x", "b/x", "b/x"),
        ("d/**/x", "d/1/2/x", "d/1/2/x"),
    ],
)
def test_the_root_of_a_path_is_what_the_pattern_names(pattern, path, root):
    assert PathPattern(pattern).root_of(path) == root


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("*.mosaic", "a.mosaic", True),
        ("*.mosaic", "a.parquet", False),
        ("{a,b}*", "b1", True),
        ("part-?", "part-12", False),
    ],
)
def test_patterns_of_names(pattern, name, fits):
    assert bool(name_pattern(pattern).fullmatch(name)) == fits


@pytest.mark.parametrize("pattern", ["d/{a,b", "d/" + "{a,b}" * 20])
def test_patterns_that_do_not_end_or_explode_are_refused(pattern):
    with pytest.raises(InvalidOptionError):
        PathPattern(pattern)
