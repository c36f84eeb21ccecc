"""Paimon tables: planned and committed by PyPaimon, read and written by pymosaic."""

from pymosaic.paimon.dataset import PaimonDataset, dataset

__all__ = ["PaimonDataset", "dataset"]
