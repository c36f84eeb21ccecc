"""``python -m pymosaic.spark.jobs.compact``, or ``spark-submit`` of this file; see ``--help``."""

import os
import sys

if __name__ == "__main__":
    # Started as a file, its neighbours must not stand in the way of modules of the same name.
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or os.curdir) != here]
    from pymosaic.spark.jobs.launch import launch

    launch("compact")
