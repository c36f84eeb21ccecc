"""``python -m pymosaic.spark.jobs pivot …``, or ``spark-submit`` of this file; see ``--help``."""

import os
import sys

if __name__ == "__main__":
    # Started as a file, its neighbours must not stand in the way of modules of the same name.
    here: str = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or os.curdir) != here]
    from pymosaic.cli import main

    sys.argv.insert(1, "spark")
    main()
