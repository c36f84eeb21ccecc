"""Types of columns and of partition keys."""

from tests.spark.surface.spellings import Spelling

KIND = "Types"
READ = 'spark.read.format("mosaic").load(path)'


def columns(does: str, **values: str) -> Spelling:
    """Columns, each from SQL expressions of the same number of rows, written and read again."""
    selected = _zipped(values)
    return Spelling(does, f'{selected}.write.format("mosaic").save(path)', READ)


def keys(does: str, **values: str) -> Spelling:
    """Partition keys, whose types are found again as Spark finds them."""
    selected = _zipped(values | {"id": "1, 2, 3"})
    names = ", ".join(f'"{name}"' for name in values)
    return Spelling(
        does, f'{selected}.write.format("mosaic").partitionBy({names}).save(path)', READ
    )


def _zipped(values: dict[str, str]) -> str:
    rows = [f"array({items})" for items in values.values()]
    names = ", ".join(f"z.`{place}` AS {name}" for place, name in enumerate(values))
    return f'spark.sql("SELECT {names} FROM (SELECT explode(arrays_zip({", ".join(rows)})) AS z)")'


def value(does: str, expression: str, **more: str) -> Spelling:
    """A value, written and read again."""
    code = f'spark.sql("SELECT {expression} AS x, 1 AS id").write.format("mosaic").save(path)'
    fails = "refused" in more or "error" in more
    return Spelling(does, code, "" if fails else READ, **more)


def table(
    does: str, declared: str, values: str, then: str = "SELECT * FROM t", **more: str
) -> Spelling:
    """A table, filled and read."""
    code = f"CREATE TABLE t ({declared}) USING mosaic; INSERT INTO t VALUES {values}"
    return Spelling(does, code, "" if "refused" in more else then, **more)


ROWS = [
    columns(
        "numbers",
        t="-128Y, 127Y, NULL",
        s="-32768S, 32767S, 0S",
        i="-2147483648, 2147483647, 0",
        b="-9223372036854775808L, 9223372036854775807L, NULL",
        f="float('nan'), float('-inf'), -0.0f",
        d="double('nan'), 1e-320D, -0.0D",
        m="1.5, -99999999999999999999999999999999999.123, NULL",
        n="CAST(-1.5 AS DECIMAL(38,18)), NULL, 0",
        flag="true, false, NULL",
    ),
    columns(
        "strings and moments",
        s="'', 'ä€😀', NULL",
        b="X'', X'00FF', NULL",
        d="DATE'0001-01-01', DATE'1582-10-04', DATE'9999-12-31'",
        at="TIMESTAMP'0002-01-01 00:00:00', TIMESTAMP'1900-01-01 00:00:00.123456', TIMESTAMP'9999-12-30 23:59:59.999999'",
        naive="TIMESTAMP_NTZ'0001-01-01 00:00:00', TIMESTAMP_NTZ'9999-12-31 23:59:59.999999', NULL",
    ),
    value(
        "TIME",
        "TIME'12:30:00'",
        error="TIME",
        note="Unless `spark.sql.timeType.enabled` is set.",
        needs="time",
    ),
    columns(
        "arrays and maps",
        a="array(1, NULL, 3), array(), NULL",
        n="array(array('a'), array()), NULL, NULL",
        d="array(1.5, 2.5), array(), NULL",
        m="map('a', 1, 'b', NULL), map(), NULL",
        l="map(1, array('x')), NULL, map()",
    ),
    value(
        "struct",
        "named_struct('a', 1, 'b', 'x')",
        refused="df.schema['x'].dataType.names}).drop('x')",
    ),
    value("array of structs", "array(named_struct('a', 1))", refused="inline("),
    value("variant", "parse_json('1')", refused="to_json("),
    value("interval of days", "INTERVAL '1' DAY", refused="interval"),
    value("calendar interval", "make_interval(1)", error="cast it to a number"),
    value("void", "NULL", refused="CAST(x AS STRING)", needs="void"),
    value("collated string", "'Abc' COLLATE UTF8_LCASE"),
    Spelling(
        "metadata of columns in files",
        f"[field.metadata for field in {READ}.schema]",
        given='df.select(f.col("id").alias("x", metadata={"comment": "c", "unit": "m"})).write.format("mosaic").save(path)',
    ),
    Spelling(
        "struct, flattened",
        "frame = spark.sql(\"SELECT 1 AS id, named_struct('a', 1, 'b', 'x') AS x\")\n"
        'frame.select("id", "x.*").write.format("mosaic").save(path)',
        READ,
    ),
    value("variant as JSON", "to_json(parse_json('[1]'))"),
    value("CHAR and VARCHAR by a cast", "CAST('ab' AS CHAR(5)) AS y, CAST('ab' AS VARCHAR(5))"),
    table("CHAR and VARCHAR", "x CHAR(5), y VARCHAR(6)", "('ab', 'ab'), (NULL, 'abcdef')"),
    table(
        "CHAR in a comparison", "x CHAR(5), id INT", "('ab', 1)", "SELECT id FROM t WHERE x = 'ab'"
    ),
    table("CHAR too long", "x CHAR(2)", "('abc')", error="2"),
    table("VARCHAR too long", "x VARCHAR(2)", "('abc')", error="2"),
    table("CHAR of DESCRIBE", "x CHAR(5), y VARCHAR(6)", "('a', 'b')", "DESCRIBE t"),
    Spelling(
        "CHAR and VARCHAR in partitions",
        "CREATE TABLE t (id INT, x CHAR(3), y VARCHAR(3)) USING mosaic PARTITIONED BY (x, y); "
        "INSERT INTO t VALUES (1, 'ab', 'c'); INSERT INTO t PARTITION (x = 'ab', y = 'd') VALUES (2)",
        "SELECT * FROM t WHERE x = 'ab'",
    ),
    table(
        "columns of a table",
        "m DECIMAL(10,2), n TIMESTAMP_NTZ, a TIMESTAMP, l TIMESTAMP_LTZ, d DATE, b BINARY, r ARRAY<INT>, p MAP<STRING, INT>",
        "(5, TIMESTAMP_NTZ'2024-01-01 00:00:00', TIMESTAMP'2024-01-01 00:00:00', TIMESTAMP'2024-01-01 00:00:00', DATE'2024-01-01', X'01', array(1, 2), map('a', 1)), (1.255, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    ),
    table("STRING COLLATE", "x STRING COLLATE UTF8_LCASE", "('Ab')"),
    table(
        "a collation compares",
        "x STRING COLLATE UTF8_LCASE",
        "('Ab'), ('aB')",
        "SELECT count(DISTINCT x) AS n, max(x = 'AB') AS found FROM t",
    ),
    table(
        "STRUCT in a table", "x STRUCT<a: INT>", "(named_struct('a', 1))", refused="df.withColumns("
    ),
    table("VARIANT in a table", "x VARIANT", "(parse_json('1'))", refused="to_json("),
    table(
        "INTERVAL in a table",
        "x INTERVAL DAY TO SECOND",
        "(INTERVAL '1 02:03:04' DAY TO SECOND)",
        refused="interval",
    ),
    keys(
        "keys of numbers",
        i="1, 2, NULL",
        t="1Y, 2Y, 3Y",
        b="1L, 3000000000L, 2L",
        h="CAST('92233720368547758070' AS DECIMAL(20,0)), 1, 2",
        d="0.5D, 1D, 2D",
        o="double('nan'), double('inf'), 1D",
        m="1.50, 2.25, 0",
        f="true, false, true",
    ),
    keys(
        "keys of moments",
        d="DATE'2024-05-30', DATE'0001-01-01', NULL",
        at="TIMESTAMP'2024-05-30 01:02:03', TIMESTAMP'2024-05-30 01:02:03.5', NULL",
        midnight="TIMESTAMP'2024-05-30 00:00:00', TIMESTAMP'2024-05-31 00:00:00', NULL",
        naive="TIMESTAMP_NTZ'2024-05-30 01:02:03', TIMESTAMP_NTZ'2024-05-30 01:02:04', NULL",
    ),
    keys(
        "keys of texts",
        s="'a', 'b c', 'ä'",
        i="'01', '2', '-3'",
        d="'2024-01-01', 'x', NULL",
        b="'true', 'FALSE', NULL",
        n="NULL, NULL, 'x'",
        x="'1', '2.5', '3'",
        m="'2024-01-01', '2024-01-01 01:00:00', NULL",
        q="'a%20b', 'x=y', 'a/b'",
    ),
    keys("keys of nothing but nulls", i="CAST(NULL AS INT), NULL, NULL", s="'a', 'b', NULL"),
    Spelling(
        "a key of binaries",
        'spark.sql("SELECT 1 AS id, X\'41\' AS x").write.format("mosaic").partitionBy("x").save(path)',
        refused="cannot name directories",
    ),
    Spelling(
        "a key of arrays",
        'spark.sql("SELECT 1 AS id, array(1) AS x").write.format("mosaic").partitionBy("x").save(path)',
        error="artition",
    ),
    Spelling(
        "keys of directories",
        READ,
        given='df.write.format("mosaic").save(path + "/Year=2024/m=01")\n'
        'df.write.format("mosaic").save(path + "/Year=3000000000/m=12")',
    ),
    Spelling(
        "CHAR and VARCHAR that Spark keeps",
        'spark.conf.set("spark.sql.preserveCharVarcharTypeInfo", True)\n'
        'spark.sql("CREATE TABLE t (x CHAR(5), y VARCHAR(3)) USING mosaic")\n'
        "spark.sql(\"INSERT INTO t VALUES ('ab', 'c')\")",
        "SELECT * FROM t",
    ),
    Spelling(
        "days and moments of any year in partitions",
        "CREATE TABLE t (id INT, d DATE, a TIMESTAMP, n TIMESTAMP_NTZ) USING mosaic PARTITIONED BY (d, a, n); "
        "INSERT INTO t VALUES (1, DATE'9999-12-31', TIMESTAMP'9999-12-31 23:59:59', TIMESTAMP_NTZ'9999-12-31 23:59:59'), "
        "(2, DATE'0001-01-01', TIMESTAMP'0001-01-01 00:00:00', TIMESTAMP_NTZ'0001-01-01 00:00:00'), "
        "(3, DATE'+10000-01-01', TIMESTAMP'+10000-01-01 10:00:00', TIMESTAMP_NTZ'+10000-01-01 10:00:00'), "
        "(4, DATE'-0044-03-15', TIMESTAMP'-0044-03-15 10:00:00', TIMESTAMP_NTZ'-0044-03-15 10:00:00')",
        "SELECT id, CAST(d AS STRING), CAST(a AS STRING), CAST(n AS STRING) FROM t "
        "WHERE d > DATE'9999-01-01' OR a < TIMESTAMP'2024-01-01 00:00:00'",
    ),
    Spelling(
        "extremes of partitions of any year",
        "SELECT CAST(min(d) AS STRING), CAST(max(d) AS STRING), CAST(min(a) AS STRING), CAST(max(a) AS STRING) FROM t",
        given="CREATE TABLE t (id INT, d DATE, a TIMESTAMP) USING mosaic PARTITIONED BY (d, a); "
        "INSERT INTO t VALUES (1, DATE'-0044-03-15', TIMESTAMP'9999-12-31 23:59:59'), "
        "(2, DATE'+10000-01-01', TIMESTAMP'0001-01-01 00:00:00')",
    ),
    Spelling(
        "a table partitioned by arrays",
        "CREATE TABLE t (id INT, k ARRAY<INT>) USING mosaic PARTITIONED BY (k)",
        'spark.catalog.tableExists("t")',
        error="directories",
    ),
    Spelling(
        "a table partitioned by binaries",
        "CREATE TABLE t (id INT, k BINARY) USING mosaic PARTITIONED BY (k)",
        'not spark.catalog.tableExists("t")',
        refused="cannot name directories",
    ),
    Spelling(
        "a table partitioned by a collated string",
        "CREATE TABLE t (id INT, k STRING COLLATE UTF8_LCASE) USING mosaic PARTITIONED BY (k)",
        'spark.catalog.tableExists("t")',
        error="without the collation",
    ),
    Spelling(
        "keys of times",
        READ,
        given='df.write.format("mosaic").save(path + "/at=12%3A00%3A00/x=12:00")\n'
        'df.write.format("mosaic").save(path + "/at=13%3A30%3A15.123456/x=12:00:00")',
    ),
    Spelling(
        "keys of fractions of seconds",
        READ,
        given='df.write.format("mosaic").save(path + "/at=12%3A00%3A00")\n'
        'df.write.format("mosaic").save(path + "/at=12%3A00%3A00.5")',
    ),
    Spelling(
        "keys of days and moments of any year",
        f'{READ}.selectExpr("id", "d", "t").where("d > DATE\'9999-01-01\' OR t < TIMESTAMP\'0001-01-01 00:00:00\'")'
        '.selectExpr("id", "CAST(d AS STRING)", "CAST(t AS STRING)", "typeof(d)", "typeof(t)")',
        given='df.write.format("mosaic").save(path + "/d=+10000-01-01/t=2024-01-01 10%3A00%3A00")\n'
        'df.write.format("mosaic").save(path + "/d=2024-01-01/t=-0044-03-15 10%3A00%3A00")\n'
        'df.write.format("mosaic").save(path + "/d=2024-01-02/t=+10000-01-01 10%3A00%3A00")',
    ),
    Spelling(
        "keys of TIME",
        'spark.conf.set("spark.sql.timeType.enabled", True)\n'
        "spark.sql(\"SELECT 1 AS id, CAST(TIME'12:30:00' AS TIME(3)) AS at\")"
        '.write.format("mosaic").partitionBy("at").save(path)\n'
        'spark.read.format("mosaic").load(path)',
        needs="time",
    ),
    Spelling(
        "keys kept as text",
        f'spark.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", False)\n{READ}',
        given='df.write.format("mosaic").save(path + "/m=01")',
    ),
    Spelling(
        "keys of a table",
        "CREATE TABLE t (id INT, d DATE, s STRING, b BOOLEAN, x DOUBLE, a TIMESTAMP, m DECIMAL(6,2)) "
        "USING mosaic PARTITIONED BY (d, s, b, x, a, m); "
        "INSERT INTO t VALUES (1, DATE'2024-01-01', '01', true, 0.5, TIMESTAMP'2024-05-30 01:02:03.25', 1.5), "
        "(2, NULL, 'a/b', false, double('nan'), NULL, 2)",
        "SELECT * FROM t WHERE d = '2024-01-01' AND m = 1.5 AND a > '2024-05-30' OR d IS NULL",
    ),
    keys("whole floating-point numbers in partitions", d="1D, -20D, 1e20D", f="1F, 2F, 16777216F"),
    keys("NaN and negative zero in partitions", d="double('nan'), 0D, -1D", z="-0D, 1D, 2.5D"),
    keys(
        "floating-point numbers and text in partitions", d="1D, 1e-7D, 1e20D", f="1F, 0.5F, 1e10F"
    ),
    Spelling(
        "partitions of texts that look escaped",
        "ALTER TABLE t DROP PARTITION (p = '%2F'); TRUNCATE TABLE t PARTITION (p = 'a%20b')",
        "SELECT * FROM t",
        given="CREATE TABLE t (id INT, p STRING) USING mosaic PARTITIONED BY (p); "
        "INSERT INTO t VALUES (1, '%2F'), (2, '/'), (3, 'a%20b'), (4, 'a b')",
    ),
    Spelling(
        "SHOW PARTITIONS of texts that look escaped",
        "SHOW PARTITIONS t",
        given="CREATE TABLE t (id INT, p STRING) USING mosaic PARTITIONED BY (p); "
        "INSERT INTO t VALUES (1, '%2F'), (2, '/'), (3, 'a%20b'), (4, 'a b')",
    ),
    Spelling(
        "SHOW PARTITIONS of floating-point numbers",
        "SHOW PARTITIONS t",
        given="CREATE TABLE t (id INT, p DOUBLE) USING mosaic PARTITIONED BY (p); "
        "INSERT INTO t VALUES (1, double('nan')), (2, 1), (3, -1e20), (4, double('-inf'))",
    ),
    Spelling(
        "DROP PARTITION of floating-point numbers",
        "ALTER TABLE t DROP PARTITION (p = 'NaN'), PARTITION (p = 1)",
        "SELECT * FROM t",
        given="CREATE TABLE t (id INT, p DOUBLE) USING mosaic PARTITIONED BY (p); "
        "INSERT INTO t VALUES (1, double('nan')), (2, 1), (3, -1e20), (4, double('-inf'))",
    ),
    Spelling(
        "nullability after reading",
        f"[field.nullable for field in {READ}.schema]",
        given='spark.range(2).write.format("mosaic").save(path)',
    ),
    Spelling(
        "metadata of a table's columns",
        'spark.table("t").schema["x"].metadata',
        given='df.select(f.col("id").alias("x", metadata={"unit": "m"})).write.format("mosaic").saveAsTable("t")',
    ),
    Spelling(
        "generated columns",
        "CREATE TABLE t (id INT, twice INT GENERATED ALWAYS AS (id * 2)) USING mosaic",
        'spark.catalog.tableExists("t")',
        error="enerated",
    ),
    Spelling(
        "identity columns",
        "CREATE TABLE t (id BIGINT GENERATED ALWAYS AS IDENTITY, x INT) USING mosaic",
        'spark.catalog.tableExists("t")',
        error="dentity",
    ),
    Spelling(
        "DEFAULT of an inserted row",
        "CREATE TABLE t (id INT, name STRING DEFAULT 'none') USING mosaic; INSERT INTO t VALUES (2, DEFAULT)",
        "SELECT * FROM t",
    ),
    Spelling(
        "DEFAULT of a new column",
        "ALTER TABLE t ADD COLUMN name STRING DEFAULT 'none'",
        given="CREATE TABLE t (id INT) USING mosaic; INSERT INTO t VALUES (1)",
        refused="SET DEFAULT",
    ),
    Spelling(
        "DEFAULT that changes",
        "ALTER TABLE t ALTER COLUMN id SET DEFAULT 7; INSERT INTO t (name) VALUES ('x')",
        "SELECT * FROM t",
        given="CREATE TABLE t (id INT, name STRING) USING mosaic",
        needs="missing columns",
    ),
]
