"""Pipelines: jobs that make, check and tend datasets of Mosaic files on Spark.

Each is a function here, a command (``pymosaic spark pivot``) and a module that ``python -m`` and
``spark-submit`` run (``pymosaic.spark.jobs.pivot``). The functions live in modules of other names,
since a module that was imported would stand in their place.
"""

from pymosaic.spark.jobs.assembling import AssembleReport, assemble
from pymosaic.spark.jobs.compacting import CompactReport, compact
from pymosaic.spark.jobs.converting import ConvertReport, convert
from pymosaic.spark.jobs.pivoting import PivotReport, pivot
from pymosaic.spark.jobs.profiling import ProfileReport, profile
from pymosaic.spark.jobs.report import JobReport
from pymosaic.spark.jobs.verifying import Difference, FileFinding, VerifyReport, verify

__all__ = [
    "AssembleReport",
    "CompactReport",
    "ConvertReport",
    "Difference",
    "FileFinding",
    "JobReport",
    "PivotReport",
    "ProfileReport",
    "VerifyReport",
    "assemble",
    "compact",
    "convert",
    "pivot",
    "profile",
    "verify",
]
