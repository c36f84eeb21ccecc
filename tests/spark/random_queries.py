"""Random queries over two tables, which a seed repeats.

Values are odd on purpose: NaN and -0.0, days of year 1, around the gap of 1582 and of year 9999,
numbers at the edge of their type, strings that differ by case. A query says the same whatever
order rows come in: floats are not summed, and a limit stands behind an order of all its columns.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

__all__ = ["DIMENSIONS", "FACTS", "PARTITIONS", "Query", "random_query"]

# Name, type, and values that tables hold and queries compare with.
FACTS = {
    "id": ("BIGINT", ("0", "7", "31", "59", "-1", "3000000000", "9223372036854775807", "7.5")),
    "i": ("INT", ("0", "-1", "3", "2147483647", "-2147483648", "3000000000", "1.5", "NULL")),
    "t": ("TINYINT", ("0Y", "127Y", "-128Y", "300", "5", "NULL")),
    "x": ("DOUBLE", ("0D", "-0.0D", "double('NaN')", "double('inf')", "1.5D", "1", "0.1", "NULL")),
    "y": ("FLOAT", ("0f", "-0.0f", "float('NaN')", "float('-inf')", "0.1f", "0.1D", "2", "NULL")),
    "dec": ("DECIMAL(10,2)", ("0", "1.50", "1.505", "-99999999.99", "1e3D", "100000000", "NULL")),
    "s": ("STRING", ("'a'", "'A'", "''", "'ab '", "'ä€'", "'zz'", "'5'", "5", "NULL")),
    "flag": ("BOOLEAN", ("true", "false", "NULL")),
    "day": (
        "DATE",
        (
            *("DATE'0001-01-01'", "DATE'1582-10-04'", "DATE'1582-10-15'", "DATE'1970-01-01'"),
            *("DATE'9999-12-31'", "DATE'+10000-01-01'", "'2024-05-30'", "NULL"),
        ),
    ),
    "at": (
        "TIMESTAMP",
        (
            *("TIMESTAMP'0001-01-02 00:00:00'", "TIMESTAMP'1582-10-10 12:00:00'"),
            *("TIMESTAMP'1900-01-01 00:00:00.000001'", "TIMESTAMP'2024-03-31 02:30:00'"),
            *("TIMESTAMP'9999-12-30 23:59:59.999999'", "TIMESTAMP'9999-12-31 23:59:59'"),
            *("TIMESTAMP'0001-01-01 00:00:00'", "'2024-05-30'", "NULL"),
        ),
    ),
    "naive": (
        "TIMESTAMP_NTZ",
        (
            *("TIMESTAMP_NTZ'0001-01-01 00:00:00'", "TIMESTAMP_NTZ'1582-10-10 00:00:00'"),
            *("TIMESTAMP_NTZ'2024-03-31 02:30:00'", "TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'"),
            "NULL",
        ),
    ),
    "Mixed": ("SMALLINT", ("1S", "2", "-32768S", "NULL")),
    "p": ("INT", ("0", "1", "2", "7", "1.5", "NULL")),
    "q": ("STRING", ("'a'", "'A'", "'b c'", "'01'", "1", "NULL")),
}
DIMENSIONS = {
    "k": ("INT", ("0", "1", "2", "3", "NULL")),
    "word": ("STRING", ("'a'", "'A'", "'zz'", "NULL")),
    "rate": ("DOUBLE", ("0D", "-0.0D", "double('NaN')", "1.5D", "NULL")),
    "since": ("DATE", ("DATE'0001-01-01'", "DATE'1970-01-01'", "DATE'9999-12-31'", "NULL")),
}
# Values of the partition columns `p` and `q`: few, as each pair is a directory to read.
PARTITIONS = (
    ("0", "'a'"),
    ("0", "'A'"),
    ("1", "'b c'"),
    ("2", "'01'"),
    ("7", "NULL"),
    ("NULL", "1"),
)
# Columns of both tables that may meet in a join.
MEETINGS = [("i", "k"), ("p", "k"), ("s", "word"), ("q", "word"), ("x", "rate"), ("day", "since")]
FLOATS = ("x", "y", "rate")
ZONES = ("UTC", "Asia/Tokyo", "America/New_York", "Asia/Kolkata", "Europe/Amsterdam")


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition, in parts that can stand alone."""

    text: str
    parts: tuple[Condition, ...] = ()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Query:
    """A query, its pieces, and the settings under which it runs."""

    select: tuple[str, ...]
    table: str
    where: Condition | None = None
    tail: str = ""
    around: str = "{}"
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        where = "" if self.where is None else f" WHERE {self.where}"
        names = ", ".join(f"{item} AS c{place}" for place, item in enumerate(self.select))
        return self.around.format(f"SELECT {names} FROM {self.table}{where}{self.tail}")

    def simpler(self) -> Iterator[Query]:
        """Queries with one piece less; not all of them make sense."""
        if self.around != "{}":
            yield replace(self, around="{}")
        if self.where is not None:
            yield replace(self, where=None)
            for part in self.where.parts:
                yield replace(self, where=part)
        if self.tail:
            yield replace(self, tail="")
        if len(self.select) > 1:
            for place in range(len(self.select)):
                yield replace(self, select=self.select[:place] + self.select[place + 1 :])
        for place in range(len(self.settings)):
            yield replace(self, settings=self.settings[:place] + self.settings[place + 1 :])


def random_query(seed: str) -> Query:
    """The query of a seed."""
    return _Maker(random.Random(seed)).query()


class _Maker:
    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.exact_names = chance.random() < 0.2

    def query(self) -> Query:
        shape = self.chance.choice(
            [
                *(self.plain, self.plain, self.plain, self.counted, self.extremes, self.grouped),
                *(self.joined, self.semijoined, self.window, self.subquery, self.related),
                *(self.united, self.first_rows, self.distinct, self.common, self.selfjoined),
            ]
        )
        return replace(shape(), settings=self.settings())

    def settings(self) -> tuple[tuple[str, str], ...]:
        pick = self.chance.choice
        return (
            ("spark.sql.ansi.enabled", pick(["true", "false"])),
            ("spark.sql.caseSensitive", str(self.exact_names).lower()),
            ("spark.sql.session.timeZone", pick(ZONES)),
            ("spark.sql.adaptive.enabled", pick(["true", "false"])),
            ("spark.sql.autoBroadcastJoinThreshold", pick(["-1", "10485760"])),
        )

    # Names, values and conditions.

    def cased(self, name: str) -> str:
        if self.exact_names:
            return name
        return self.chance.choice([name, name, name.upper(), name.lower(), name.title()])

    def name(self, columns: dict[str, tuple[str, tuple[str, ...]]], prefix: str) -> str:
        return prefix + self.cased(self.chance.choice(list(columns)))

    def condition(
        self,
        columns: dict[str, tuple[str, tuple[str, ...]]] = FACTS,
        prefix: str = "",
        depth: int = 3,
    ) -> Condition:
        kind = self.chance.random()
        if depth and kind < 0.45:
            word = self.chance.choice(["AND", "OR"])
            parts = tuple(self.condition(columns, prefix, depth - 1) for _ in range(2))
            return Condition(f"({parts[0]} {word} {parts[1]})", parts)
        if depth and kind < 0.6:
            part = self.condition(columns, prefix, depth - 1)
            form = self.chance.choice(
                [
                    *("NOT ({})", "({}) IS NOT TRUE", "({}) IS UNKNOWN", "coalesce({}, false)"),
                    *("CASE WHEN {} THEN true END", "nullif({}, true)", "({}) <=> NULL"),
                    *("if({}, NULL, true)", "({}) = false"),
                ]
            )
            return Condition(form.format(part), (part,))
        return Condition(self.test(columns, prefix))

    def test(self, columns: dict[str, tuple[str, tuple[str, ...]]], prefix: str) -> str:
        pick = self.chance.choice
        column = pick(list(columns))
        kind, values = columns[column]
        name = prefix + self.cased(column)
        value = self.chance.random()
        if value < 0.45:
            return f"{name} {pick(['=', '<>', '<', '<=', '>', '>=', '<=>'])} {pick(values)}"
        if value < 0.6:
            chosen = ", ".join(self.chance.choices(values, k=self.chance.randint(1, 4)))
            return f"{name} {pick(['IN', 'NOT IN'])} ({chosen})"
        if value < 0.7:
            return f"{name} {pick(['BETWEEN', 'NOT BETWEEN'])} {pick(values)} AND {pick(values)}"
        if value < 0.8:
            return f"{name} IS {pick(['', 'NOT '])}NULL"
        if value < 0.9:
            other = pick([item for item in columns if columns[item][0] == kind] or [column])
            return f"{name} {pick(['<', '=', '<=>', '<>'])} {prefix}{self.cased(other)}"
        return self.function(kind, name)

    def function(self, kind: str, name: str) -> str:
        pick = self.chance.choice
        if kind == "STRING":
            pattern = pick(["a%", "%b ", "%", "A_", "ä%", "_"])
            upper = f"upper({name}) IN ('A', 'ZZ')"
            return pick([f"{name} LIKE '{pattern}'", upper, f"length({name}) > 1"])
        if kind == "BOOLEAN":
            return pick([name, f"NOT {name}"])
        if kind in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ"):
            return pick([f"year({name}) < 1583", f"month({name}) = 10", f"day({name}) IN (1, 31)"])
        if kind in ("DOUBLE", "FLOAT"):
            return pick([f"isnan({name})", f"{name} + 1 > 1", f"-{name} = 0"])
        return pick(
            [f"try_add({name}, 1) > 1", f"{name} % 2 = 0", f"try_cast({name} AS TINYINT) > 0"]
        )

    def items(self, count: int | None = None, prefix: str = "") -> tuple[str, ...]:
        count = count or self.chance.randint(1, 4)
        return tuple(self.name(FACTS, prefix) for _ in range(count))

    def where(self) -> Condition | None:
        return self.condition() if self.chance.random() < 0.8 else None

    # Shapes of queries.

    def plain(self) -> Query:
        more = (str(self.condition(depth=1)),) if self.chance.random() < 0.3 else ()
        return Query(self.items() + more, "facts", self.where())

    def counted(self) -> Query:
        counts = ["count(*)", f"count({self.name(FACTS, '')})", "count(DISTINCT p)", "count(1)"]
        return Query(tuple(self.chance.sample(counts, 2)), "facts", self.where())

    def extremes(self) -> Query:
        found = []
        for column in self.chance.sample(list(FACTS), 3):
            end = self.chance.choice(["min", "max"])
            # Of 0.0 and -0.0, either may be the least.
            found.append(f"{end}({column}){' + 0D' if column in FLOATS else ''}")
        return Query(tuple(found), "facts", self.where() if self.chance.random() < 0.6 else None)

    def grouped(self) -> Query:
        keys = self.chance.sample(
            [name for name in FACTS if name != "id"], self.chance.randint(1, 2)
        )
        values = ["count(*)", "sum(id)", "max(s)", "min(day)", "sum(dec)", "count(DISTINCT i)"]
        found = tuple(self.chance.sample(values, 2))
        having = self.chance.choice(["", " HAVING count(*) > 1", " HAVING max(id) > 9"])
        return Query((*keys, *found), "facts", self.where(), f" GROUP BY {', '.join(keys)}{having}")

    def joined(self) -> Query:
        left, right = self.chance.choice(MEETINGS)
        kind = self.chance.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        equal = self.chance.choice(["=", "=", "<=>"])
        more = self.chance.choice(["", f" AND {self.condition(FACTS, 'a.', 1)}"])
        table = f"facts a {kind} dims b ON a.{left} {equal} b.{right}{more}"
        where = self.chance.choice(
            [None, self.condition(FACTS, "a.", 2), self.condition(DIMENSIONS, "b.", 1)]
        )
        return Query((*self.items(2, "a."), self.name(DIMENSIONS, "b.")), table, where)

    def semijoined(self) -> Query:
        left, right = self.chance.choice(MEETINGS)
        kind = self.chance.choice(["LEFT SEMI JOIN", "LEFT ANTI JOIN"])
        inner = f"(SELECT * FROM dims WHERE {self.condition(DIMENSIONS, '', 1)})"
        table = f"facts a {kind} {inner} b ON a.{left} = b.{right}"
        return Query(self.items(3, "a."), table, self.condition(FACTS, "a.", 1))

    def selfjoined(self) -> Query:
        first, second = (self.condition(FACTS, "", 1) for _ in range(2))
        table = (
            f"(SELECT * FROM facts WHERE {first}) a JOIN "
            f"(SELECT * FROM facts WHERE {second}) b ON a.id = b.id"
        )
        return Query((*self.items(2, "a."), *self.items(1, "b.")), table)

    def window(self) -> Query:
        key = self.chance.choice(["p", "q", "flag", "s", "Mixed"])
        found = self.chance.choice(
            ["row_number()", "sum(i)", "lag(id)", "max(day)", "count(*)", "first_value(s)"]
        )
        over = f"{found} OVER (PARTITION BY {key} ORDER BY id)"
        return Query((*self.items(2), over), "facts", self.where())

    def subquery(self) -> Query:
        inner = self.condition(DIMENSIONS, "", 1)
        left, right = self.chance.choice(MEETINGS)
        text = self.chance.choice(
            [
                f"{left} IN (SELECT {right} FROM dims WHERE {inner})",
                f"{left} NOT IN (SELECT {right} FROM dims WHERE {inner} AND {right} IS NOT NULL)",
                f"id > (SELECT max(k) FROM dims WHERE {inner})",
                f"EXISTS (SELECT 1 FROM dims WHERE {inner})",
            ]
        )
        return Query(self.items(), "facts", Condition(f"{text} AND {self.condition(depth=1)}"))

    def related(self) -> Query:
        word = self.chance.choice(["EXISTS", "NOT EXISTS"])
        left, right = self.chance.choice(MEETINGS)
        inner = self.condition(DIMENSIONS, "b.", 1)
        text = f"{word} (SELECT 1 FROM dims b WHERE a.{left} = b.{right} AND {inner})"
        return Query(self.items(2, "a."), "facts a", Condition(text))

    def united(self) -> Query:
        word = self.chance.choice(["UNION ALL", "UNION", "INTERSECT", "EXCEPT", "EXCEPT ALL"])
        items = self.items(2)
        second = Query(items, "facts", self.condition(depth=2)).text
        return Query(items, "facts", self.where(), f" {word} {second}")

    def first_rows(self) -> Query:
        items = self.items()
        if self.chance.random() < 0.4:
            limit = f" LIMIT {self.chance.randint(0, 70)}"
            return Query(items, "facts", self.where(), limit, "SELECT count(*) FROM ({})")
        order = ", ".join(
            f"{place} {self.chance.choice(['', 'DESC', 'NULLS LAST', 'DESC NULLS FIRST'])}"
            for place in range(1, len(items) + 1)
        )
        limit = f" LIMIT {self.chance.randint(0, 9)}"
        offset = self.chance.choice(["", f" OFFSET {self.chance.randint(0, 70)}"])
        # 0.0 and -0.0 are equal in an order, so that either may come first.
        items = tuple(f"{item} + 0D" if item.lower() in FLOATS else item for item in items)
        return Query(items, "facts", self.where(), f" ORDER BY {order}{limit}{offset}")

    def distinct(self) -> Query:
        return Query(self.items(2), "facts", self.where(), "", "SELECT DISTINCT * FROM ({})")

    def common(self) -> Query:
        key = self.chance.choice(["p", "q", "i", "flag"])
        around = (
            "WITH w AS ({}) SELECT l.c0, l.c1, r.c1 FROM w l JOIN (SELECT c0, max(c1) AS c1 FROM w "
            f"WHERE c1 > {self.chance.randint(0, 50)} GROUP BY c0) r ON l.c0 <=> r.c0"
        )
        return Query((key, "id"), "facts", self.where(), "", around)
