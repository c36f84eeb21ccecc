"""Build the Cython kernels; everything else stands in pyproject.toml.

PYMOSAIC_DEBUG=1 builds with ``-O1 -g``, PYMOSAIC_SANITIZE=1 with the address and undefined
behaviour sanitizers, PYMOSAIC_COVERAGE=1 for the fuzzer, which is told of every branch taken.
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

SOURCE = Path("src")
KERNELS = [SOURCE / "pymosaic/kernels", SOURCE / "pymosaic/pages/kernels"]

compile_args, link_args = ["-O3"], []
if os.environ.get("PYMOSAIC_DEBUG", "0") != "0":
    compile_args = ["-O1", "-g"]
if os.environ.get("PYMOSAIC_SANITIZE", "0") != "0":
    link_args = ["-fsanitize=address,undefined"]
    compile_args = ["-O1", "-g", "-fno-omit-frame-pointer", *link_args]
if os.environ.get("PYMOSAIC_COVERAGE", "0") != "0":
    compile_args = ["-O1", "-g", "-fsanitize-coverage=trace-pc,trace-cmp"]

sources = [source for directory in KERNELS for source in sorted(directory.glob("*.pyx"))]
if {source.parent for source in sources} != set(KERNELS):
    raise SystemExit(f"pymosaic cannot be built: no kernel sources in one of {KERNELS}")
headers = [str(header) for directory in KERNELS for header in sorted(directory.glob("*.h"))]

setup(
    ext_modules=cythonize(
        [
            Extension(
                ".".join(source.relative_to(SOURCE).with_suffix("").parts),
                [str(source)],
                include_dirs=[str(directory) for directory in KERNELS],
                depends=headers,
                extra_compile_args=compile_args,
                extra_link_args=link_args,
            )
            for source in sources
        ],
        build_dir="build/cython",
        include_path=["src"],
        language_level=3,
    ),
    options={"build_ext": {"parallel": os.cpu_count()}},
)
