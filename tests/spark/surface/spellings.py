"""A spelling: what one types for Parquet, and what it must do for Mosaic."""

from dataclasses import dataclass

__all__ = ["Spelling"]


@dataclass(frozen=True, slots=True)
class Spelling:
    """One row of the table of spellings.

    Texts are Python, or SQL if they begin with a word in capitals (statements then end with ``;``).
    They run as they are for Mosaic, and with ``parquet`` for ``mosaic`` for Parquet. Python sees
    ``spark``, ``f`` (the functions), ``os``, ``df`` (six rows with the columns ``id``, ``k``,
    ``name``, ``value`` and ``day``), ``path`` (where nothing is), ``data`` and ``parts`` (where
    ``df`` was saved as two files, and with ``partitionBy("k")``) and ``files(directory)``. In SQL,
    ``{path}``, ``{data}`` and ``{parts}`` are the directories. Tables live in a database
    of the row's own.

    Parameters
    ----------
    does : str
        What the spelling is for; unique.
    code : str
        The spelling, as one types it for Mosaic and as the guide shows it.
    then : str
        What is compared after it, or after its failure; by default the value of its last line.
    given : str
        What runs before it, and is not shown.
    parquet : str
        The spelling for Parquet, where it is not the same but for the name of the format.
    error : str
        Both formats refuse it; this is part of the message for Mosaic.
    forbidden : str
        Spark refuses it for sources that are not in its own jars, with this in the message.
    only : str
        Spark refuses it for Parquet, with this in the message, and it works for Mosaic; ``then``
        must be true.
    refused : str
        Mosaic refuses it, with this in the message, and Parquet does it; ``then`` must be true for
        Mosaic.
    better : str
        What Mosaic does better, for the guide; ``then`` is true for Mosaic and false for Parquet.
    note : str
        What the guide adds.
    needs : str
        What a version of Spark must be able to do, by a name in ``tests.spark.versions``; on
        earlier ones, the spelling must do what is told there.
    """

    does: str
    code: str
    then: str = ""
    given: str = ""
    parquet: str = ""
    error: str = ""
    forbidden: str = ""
    only: str = ""
    refused: str = ""
    better: str = ""
    note: str = ""
    needs: str = ""
