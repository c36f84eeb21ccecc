"""Running a job's command from its module, for ``python -m`` and ``spark-submit``."""

from __future__ import annotations

import sys

__all__ = ["launch"]


def launch(job: str) -> None:
    """Run ``pymosaic spark JOB`` with the arguments of this process, and exit."""
    from pymosaic.cli import main

    sys.argv[1:1] = ["spark", job]
    main()
