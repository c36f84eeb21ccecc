"""The columns of long rows by role, and what becomes of several values for one cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pymosaic.errors import InvalidOptionError
from pymosaic.spark.jobs.frames import check_keys, column, key_column, names_of, resolve_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["LongColumns"]

# How to combine the non-null values of one cell, in Spark SQL.
_POLICIES = {
    "error": (
        "CASE WHEN count({value}) <= 1 THEN any_value({value}, true) "
        "ELSE raise_error('several values of one feature for one entity') END"
    ),
    "first": "min_by({value}, struct({order}{value})) FILTER (WHERE {value} IS NOT NULL)",
    "last": "max_by({value}, struct({order}{value})) FILTER (WHERE {value} IS NOT NULL)",
    "min": "min({value})",
    "max": "max({value})",
    "sum": "sum({value})",
    "mean": "avg({value})",
}
_NEED_NUMBERS = ("sum", "mean")
_NEED_ORDER = ("first", "last")


@dataclass(frozen=True, slots=True)
class LongColumns:
    """The columns of the long rows, by role."""

    entity: tuple[str, ...]
    feature: str
    values: tuple[str, ...]
    order_by: tuple[str, ...]
    policies: tuple[str, ...]

    @classmethod
    def check(
        cls, frame: DataFrame, entity: Any, feature: str, values: Any, order_by: Any, policies: Any
    ) -> LongColumns:
        """Check the arguments before anything is read."""
        keys = resolve_columns(frame, "entity", names_of("entity", entity))
        order = resolve_columns(frame, "order_by", names_of("order_by", order_by))
        (feature,) = resolve_columns(frame, "feature", (feature,))
        if not keys:
            raise InvalidOptionError("entity must name at least one column")
        if values is None:
            chosen = tuple(x for x in frame.columns if x not in (*keys, feature, *order))
        else:
            chosen = resolve_columns(frame, "values", names_of("values", values))
        if not chosen:
            raise InvalidOptionError("values: no column is left that could hold values")
        if twice := {feature, *keys} & set(chosen) | {feature} & set(keys):
            raise InvalidOptionError(f"column {twice.pop()!r} cannot be used twice")
        check_keys(frame, "entity", keys)
        names = cls(keys, feature, chosen, order, _policies(policies, chosen))
        names._check_types(frame)
        return names

    def _check_types(self, frame: DataFrame) -> None:
        from pyspark.sql.types import NumericType, StructType

        from pymosaic.spark.types import check_storable

        fields = dict(zip(frame.columns, frame.schema.fields, strict=True))
        used = (*self.entity, self.feature, *self.values)
        check_storable(StructType([fields[name] for name in used]))
        for name, policy in zip(self.values, self.policies, strict=True):
            data_type = fields[name].dataType
            text = data_type.simpleString()
            if policy in _NEED_NUMBERS and not isinstance(data_type, NumericType):
                raise InvalidOptionError(
                    f"duplicates={policy!r} is for numbers, but values column {name!r} has type "
                    f"{text}; give a policy for each: {{{name!r}: 'last', …}}"
                )
            if policy != "error" and text.startswith("map"):
                raise InvalidOptionError(
                    f"duplicates={policy!r}: maps of column {name!r} have no order"
                )
            if policy in _NEED_ORDER and not self.order_by:
                raise InvalidOptionError(
                    f"duplicates={policy!r} needs order_by: rows have no order in Spark"
                )

    @property
    def combine_nothing(self) -> bool:
        """Whether several values of a cell are an error."""
        return set(self.policies) == {"error"}

    def select(self, frame: DataFrame) -> DataFrame:
        """The rows, with columns renamed by role."""
        groups = {"value": self.values, "order": self.order_by}
        if not set(self.policies) & set(_NEED_ORDER):
            groups["order"] = ()
        chosen = {
            use: [column(name).alias(f"{use}_{place}") for place, name in enumerate(names)]
            for use, names in groups.items()
        }
        chosen["key"] = [
            key_column(frame, name).alias(f"key_{place}") for place, name in enumerate(self.entity)
        ]
        feature = column(self.feature).cast("string").alias("feature")
        return frame.select(*chosen["key"], feature, *chosen["value"], *chosen["order"])

    def aggregate(self, long: DataFrame, keys: list[str]) -> DataFrame:
        """One row per cell, with a policy combining several values; without another shuffle."""
        from pyspark.sql import functions as f

        if self.combine_nothing:
            return long
        order = "".join(f"order_{place}, " for place in range(len(self.order_by)))
        made = [
            f.expr(_POLICIES[policy].format(value=f"value_{place}", order=order)).alias(
                f"value_{place}"
            )
            for place, policy in enumerate(self.policies)
        ]
        return long.groupBy(*keys, "feature").agg(*made)


def _policies(given: Any, values: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(given, Mapping):
        if unknown := set(given) - set(values):
            raise InvalidOptionError(f"duplicates: {unknown.pop()!r} is not one of {list(values)}")
        chosen = tuple(given.get(name, "error") for name in values)
    else:
        chosen = (given,) * len(values)
    for policy in chosen:
        if policy not in _POLICIES:
            raise InvalidOptionError(
                f"duplicates must be one of {', '.join(_POLICIES)}, got {policy!r}"
            )
    return chosen
