"""Jobs that build, check and maintain datasets of Mosaic files on Spark.

Each job has a module, whose function of the same name is public here, and a command
(``pymosaic spark pivot``). ``python -m pymosaic.spark.jobs`` and ``spark-submit`` of
``__main__.py`` run the same commands.
"""

from pymosaic.spark.jobs.add_columns import AddColumnsReport, add_columns
from pymosaic.spark.jobs.assemble import AssembleReport, assemble
from pymosaic.spark.jobs.compact import CompactReport, compact
from pymosaic.spark.jobs.convert import ConvertReport, convert
from pymosaic.spark.jobs.pivot import PivotReport, pivot
from pymosaic.spark.jobs.profile import ProfileReport, profile
from pymosaic.spark.jobs.report import JobReport
from pymosaic.spark.jobs.verify import Difference, FileFinding, VerifyReport, verify

__all__ = [
    "AddColumnsReport",
    "AssembleReport",
    "CompactReport",
    "ConvertReport",
    "Difference",
    "FileFinding",
    "JobReport",
    "PivotReport",
    "ProfileReport",
    "VerifyReport",
    "add_columns",
    "assemble",
    "compact",
    "convert",
    "pivot",
    "profile",
    "verify",
]
