"""Changing and describing tables."""

from tests.spark.surface.spellings import Spelling

KIND = "Change and describe tables"
READ = "SELECT * FROM t"
T = "CREATE TABLE t (id INT, name STRING) USING mosaic; INSERT INTO t VALUES (1, 'a'), (2, 'b')"
P = "CREATE TABLE t (id INT, name STRING, k INT) USING mosaic PARTITIONED BY (k); INSERT INTO t VALUES (1, 'a', 0), (2, 'b', 0), (3, 'c', 1)"
P2 = "CREATE TABLE t (id INT, k INT, g STRING) USING mosaic PARTITIONED BY (k, g); INSERT INTO t VALUES (1, 0, 'x'), (2, 0, 'y'), (3, 1, 'x')"
KNOWN = "'id', 'name', 'k', '# Partition Information', '# col_name', 'Database', 'Table', 'Type', 'Provider', 'Comment', 'Location', 'Partition Provider'"

ROWS = [
    Spelling("ALTER TABLE ADD COLUMNS", "ALTER TABLE t ADD COLUMNS (extra DOUBLE)", READ, T),
    Spelling(
        "ALTER TABLE ADD COLUMNS, then INSERT",
        "ALTER TABLE t ADD COLUMNS (extra DOUBLE, more STRING); INSERT INTO t VALUES (3, 'c', 0.5, 'x')",
        READ,
        T,
    ),
    Spelling(
        "ALTER TABLE ADD COLUMN",
        "ALTER TABLE t ADD COLUMN extra DOUBLE COMMENT 'new'",
        "DESCRIBE t",
        T,
    ),
    Spelling(
        "ALTER TABLE ADD COLUMNS with partitions",
        "ALTER TABLE t ADD COLUMNS (extra DOUBLE)",
        READ,
        P,
    ),
    Spelling(
        "ALTER TABLE ADD COLUMNS that is there",
        "ALTER TABLE t ADD COLUMNS (NAME STRING)",
        READ,
        T,
        error="name",
    ),
    Spelling("ALTER TABLE RENAME TO", "ALTER TABLE t RENAME TO u", "SELECT * FROM u", T),
    Spelling(
        "ALTER TABLE RENAME TO, with partitions",
        "ALTER TABLE t RENAME TO u; INSERT INTO u VALUES (9, 'z', 1)",
        "SELECT * FROM u",
        P,
    ),
    Spelling(
        "ALTER TABLE … PARTITION … RENAME",
        "ALTER TABLE t PARTITION (k = 0) RENAME TO PARTITION (k = 8)",
        'spark.table("t").where("k = 0").count() == 1',
        "CREATE TABLE t (id INT, k INT) USING mosaic PARTITIONED BY (k); INSERT INTO t VALUES (1, 0)",
        refused="INSERT INTO",
    ),
]
