"""Build the Cython kernels; everything else stands in pyproject.toml.

PYMOSAIC_DEBUG=1 builds with ``-O1 -g``, PYMOSAIC_SANITIZE=1 with the address and undefined
behaviour sanitizers, PYMOSAIC_COVERAGE=1 for the fuzzer, which is told of every branch taken.
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

KERNELS = Path("src/pymosaic/kernels")

compile_args, link_args = ["-O3"], []
if os.environ.get("PYMOSAIC_DEBUG", "0") != "0":
    compile_args = ["-O1", "-g"]
if os.environ.get("PYMOSAIC_SANITIZE", "0") != "0":
    link_args = ["-fsanitize=address,undefined"]
    compile_args = ["-O1", "-g", "-fno-omit-frame-pointer", *link_args]
if os.environ.get("PYMOSAIC_COVERAGE", "0") != "0":
    compile_args = ["-O1", "-g", "-fsanitize-coverage=trace-pc,trace-cmp"]

sources = sorted(KERNELS.glob("*.pyx"))
if not sources:
    raise SystemExit(f"pymosaic cannot be built: no kernel sources in {KERNELS}")

setup(
    ext_modules=cythonize(
        [
            Extension(
                f"pymosaic.kernels.{source.stem}",
                [str(source)],
                include_dirs=[str(KERNELS)],
                depends=[str(header) for header in sorted(KERNELS.glob("*.h"))],
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
