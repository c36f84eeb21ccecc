"""Directories of Mosaic files: reading them as one table, writing and keeping them.

The package is called like the function ``pymosaic.dataset``, and is it: calling it opens a dataset.
"""

import sys
from types import ModuleType

from pymosaic.dataset.dataset import dataset as _open_dataset


class _Package(ModuleType):
    # Python binds an imported package to its name in the parent, over the function of that name.
    __call__ = staticmethod(_open_dataset)


sys.modules[__name__].__class__ = _Package
