"""Directories of Mosaic files: reading them as one table, writing and keeping them.

The package is called like the function ``pymosaic.dataset``, and is it: calling it opens a dataset.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pymosaic.dataset.dataset import Dataset


class _Package(ModuleType):
    # Python binds an imported package to its name in the parent, over the function of that name.
    def __call__(self, *arguments: Any, **options: Any) -> "Dataset":
        from pymosaic.dataset.dataset import dataset

        return dataset(*arguments, **options)


sys.modules[__name__].__class__ = _Package
