"""Inserts into tables, and what deletes rows."""

from tests.spark.surface.spellings import Spelling
from tests.spark.versions import VERSION

KIND = "Fill tables"
READ = "SELECT * FROM t"
T = "CREATE TABLE t (id INT, name STRING) USING mosaic; INSERT INTO t VALUES (1, 'a'), (2, 'b')"
P = "CREATE TABLE t (id INT, name STRING, k INT) USING mosaic PARTITIONED BY (k); INSERT INTO t VALUES (1, 'a', 0), (2, 'b', 0), (3, 'c', 1)"
P2 = "CREATE TABLE t (id INT, k INT, g STRING) USING mosaic PARTITIONED BY (k, g); INSERT INTO t VALUES (1, 0, 'x'), (2, 0, 'y'), (3, 1, 'x')"
DYNAMIC = "SET spark.sql.sources.partitionOverwriteMode=dynamic; "

ROWS = [
    Spelling("INSERT INTO … VALUES", "INSERT INTO t VALUES (3, 'c'), (4, NULL)", READ, T),
    Spelling("INSERT INTO TABLE", "INSERT INTO TABLE t VALUES (3, 'c')", READ, T),
    Spelling("INSERT t", "INSERT INTO t SELECT id + 10, name FROM t", READ, T),
    Spelling("INSERT INTO … TABLE", "INSERT INTO t TABLE t", READ, T),
    Spelling(
        "INSERT INTO some columns",
        "INSERT INTO t (id) VALUES (9)",
        READ,
        T,
        needs="missing columns",
    ),
    Spelling(
        "INSERT INTO columns in another order", "INSERT INTO t (name, id) VALUES ('z', 9)", READ, T
    ),
    Spelling(
        "INSERT INTO columns in another case", "INSERT INTO t (NAME, ID) VALUES ('z', 9)", READ, T
    ),
    Spelling(
        "INSERT INTO an unknown column",
        "INSERT INTO t (nothing) VALUES (9)",
        READ,
        T,
        error="nothing",
    ),
    Spelling(
        "INSERT INTO too many values", "INSERT INTO t VALUES (1, 'a', 2)", READ, T, error="column"
    ),
    Spelling("INSERT INTO too few values", "INSERT INTO t VALUES (1)", READ, T, error="column"),
    Spelling("INSERT INTO … BY NAME", "INSERT INTO t BY NAME SELECT 'z' AS name, 9 AS id", READ, T),
    Spelling(
        "INSERT INTO … BY NAME, a column missing",
        "INSERT INTO t BY NAME SELECT 9 AS id",
        READ,
        T,
        needs="missing columns",
    ),
    Spelling("INSERT of another type", "INSERT INTO t VALUES (CAST(7 AS BIGINT), 5)", READ, T),
    Spelling(
        "INSERT of a value that does not fit",
        "INSERT INTO t VALUES (3000000000, 'x')",
        READ,
        T,
        error="overflow",
    ),
    Spelling(
        "INSERT of text into a number", "INSERT INTO t VALUES ('five', 'x')", READ, T, error="ast"
    ),
    Spelling("INSERT OVERWRITE", "INSERT OVERWRITE t VALUES (9, 'z')", READ, T),
    Spelling("INSERT OVERWRITE TABLE … SELECT", "INSERT OVERWRITE TABLE t SELECT 9, 'z'", READ, T),
    Spelling(
        "INSERT OVERWRITE with no rows", "INSERT OVERWRITE t SELECT 1, 'a' WHERE false", READ, T
    ),
    Spelling(
        "INSERT OVERWRITE … BY NAME",
        "INSERT OVERWRITE t BY NAME SELECT 'z' AS name, 9 AS id",
        READ,
        T,
    ),
    Spelling(
        "INSERT OVERWRITE from itself",
        "INSERT OVERWRITE t SELECT * FROM t WHERE id = 1",
        'spark.table("t").count() == 1',
        T,
        only="overwrite",
    ),
    Spelling(
        "INSERT OVERWRITE that fails",
        "INSERT OVERWRITE t SELECT 1, raise_error('broken')",
        'spark.catalog.refreshTable("t")\nspark.table("t").count() == 2',
        T,
        error="broken",
        better="The rows stay; Parquet loses them.",
    ),
    Spelling(
        "INSERT INTO that fails",
        "INSERT INTO t SELECT 1, raise_error('broken')",
        READ,
        T,
        error="broken",
    ),
    Spelling(
        "INSERT with a common table expression",
        "WITH s AS (SELECT 8 AS id, 'w' AS name) INSERT INTO t SELECT * FROM s",
        READ,
        T,
    ),
    Spelling("FROM … INSERT INTO", "FROM t INSERT INTO t SELECT id + 1, name", READ, T),
    Spelling(
        "several inserts from one query",
        "FROM (SELECT 5 AS id) s INSERT INTO t SELECT id, 'x' INSERT INTO t SELECT id + 1, 'y'",
        READ,
        T,
    ),
    Spelling(
        "INSERT INTO … PARTITION (k=1)", "INSERT INTO t PARTITION (k = 1) VALUES (9, 'z')", READ, P
    ),
    Spelling(
        "INSERT INTO … PARTITION (k='1')",
        "INSERT INTO t PARTITION (k = '1') SELECT 9, 'z'",
        READ,
        P,
    ),
    Spelling(
        "INSERT INTO … PARTITION (k)", "INSERT INTO t PARTITION (k) SELECT 9, 'z', 5", READ, P
    ),
    Spelling(
        "INSERT INTO a partition, columns named",
        "INSERT INTO t PARTITION (k = 1) (name, id) VALUES ('z', 9)",
        READ,
        P,
    ),
    Spelling(
        "INSERT INTO a new partition",
        "INSERT INTO t PARTITION (k = 7) VALUES (9, 'z')",
        "SHOW PARTITIONS t",
        P,
    ),
    Spelling("INSERT INTO a null partition", "INSERT INTO t VALUES (9, 'z', NULL)", READ, P),
    Spelling(
        "INSERT INTO PARTITION (k = null)",
        "INSERT INTO t PARTITION (k = null) VALUES (9, 'z')",
        READ,
        P,
    ),
    Spelling(
        "INSERT OVERWRITE … PARTITION (k=1)",
        "INSERT OVERWRITE t PARTITION (k = 1) VALUES (9, 'z')",
        READ,
        P,
    ),
    Spelling(
        "INSERT OVERWRITE a partition with no rows",
        "INSERT OVERWRITE t PARTITION (k = 0) SELECT 1, 'a' WHERE false",
        READ,
        P,
    ),
    Spelling(
        "INSERT OVERWRITE all partitions, static", "INSERT OVERWRITE t VALUES (9, 'z', 1)", READ, P
    ),
    Spelling(
        "INSERT OVERWRITE … PARTITION (k), static",
        "INSERT OVERWRITE t PARTITION (k) VALUES (9, 'z', 1)",
        READ,
        P,
    ),
    Spelling(
        "INSERT INTO two keys, one static",
        "INSERT INTO t PARTITION (k = 0, g) VALUES (9, 'z')",
        READ,
        P2,
    ),
    Spelling(
        "INSERT OVERWRITE two keys, one static",
        "INSERT OVERWRITE t PARTITION (k = 0, g) VALUES (9, 'x')",
        READ,
        P2,
    ),
    Spelling(
        "INSERT OVERWRITE two keys, both static",
        "INSERT OVERWRITE t PARTITION (k = 0, g = 'x') VALUES (9)",
        READ,
        P2,
    ),
    Spelling(
        "INSERT INTO PARTITION of an unknown column",
        "INSERT INTO t PARTITION (nothing = 1) VALUES (9, 'z')",
        READ,
        P,
        error="nothing",
    ),
    Spelling(
        "INSERT INTO PARTITION of a column that is not a key",
        "INSERT INTO t PARTITION (id = 1) VALUES ('z', 2)",
        READ,
        P,
        error="id",
    ),
    Spelling(
        "INSERT INTO PARTITION of a value that is not a number",
        "INSERT INTO t PARTITION (k = 'x') VALUES (9, 'z')",
        READ,
        P,
        error="x",
    ),
    Spelling(
        "INSERT INTO … REPLACE WHERE",
        "INSERT INTO t REPLACE WHERE k = 1 VALUES (9, 'z', 1)",
        '[row.id for row in spark.table("t").orderBy("id").collect()] == [1, 2, 9]',
        P,
        # Before 4.3, Spark's words for Parquet do not name the statement.
        only="REPLACE" if VERSION >= (4, 3) else "v1 table",
    ),
    Spelling(
        "INSERT OVERWRITE DIRECTORY",
        "INSERT OVERWRITE DIRECTORY '{path}' USING mosaic SELECT 1 AS x",
        'spark.read.format("mosaic").load(path)',
    ),
    Spelling(
        "INSERT OVERWRITE DIRECTORY with OPTIONS",
        "INSERT OVERWRITE DIRECTORY USING mosaic OPTIONS (path '{path}') SELECT 1 AS x",
        'spark.read.format("mosaic").load(path)',
    ),
    Spelling(
        "INSERT INTO a path",
        "INSERT INTO mosaic.`{path}` VALUES (7, 7)",
        'spark.read.format("mosaic").load(path)',
        'df.select("id", "k").write.format("mosaic").save(path)',
        error="mosaic",
    ),
    Spelling(
        "INSERT INTO a temporary view",
        "CREATE TEMPORARY VIEW v USING mosaic OPTIONS (path '{path}'); INSERT INTO v VALUES (7, 7)",
        'spark.read.format("mosaic").load(path)',
        'df.select("id", "k").write.format("mosaic").save(path)',
    ),
    Spelling(
        "INSERT OVERWRITE a temporary view",
        "CREATE TEMPORARY VIEW v USING mosaic OPTIONS (path '{path}'); INSERT OVERWRITE v VALUES (7, 7)",
        'spark.read.format("mosaic").load(path)',
        'df.select("id", "k").write.format("mosaic").save(path)',
    ),
    Spelling("insertInto", 'df.select("id", "name").write.insertInto("t")', READ, T),
    Spelling(
        "insertInto goes by position",
        'df.selectExpr("k AS a", "name AS b").write.insertInto("t")',
        READ,
        T,
    ),
    Spelling(
        "insertInto with overwrite",
        'df.select("id", "name").write.insertInto("t", overwrite=True)',
        READ,
        T,
    ),
    Spelling(
        "DELETE from a cached table",
        "CACHE TABLE t; DELETE FROM t WHERE k = 0",
        'spark.table("t").count() == 1',
        P,
        only="InMemoryRelation",
    ),
    Spelling(
        "insertInto, mode overwrite",
        'df.select("id", "name").where("id < 3").write.mode("overwrite").insertInto("t")',
        READ,
        T,
    ),
    Spelling(
        "insertInto, mode ignore",
        'df.select("id", "name").where("id < 3").write.mode("ignore").insertInto("t")',
        READ,
        T,
        note="Appends.",
    ),
    Spelling(
        "insertInto, the format named",
        'df.select("id", "name").write.format("mosaic").insertInto("t")',
        READ,
        T,
    ),
    Spelling(
        "insertInto, dynamic by option",
        'df.select("id", "name", "k").where("id = 3").write.mode("overwrite").option("partitionOverwriteMode", "dynamic").insertInto("t")',
        READ,
        P,
    ),
    Spelling(
        "insertInto, dynamic by setting",
        'spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")\n'
        'df.select("id", "name", "k").where("id = 3").write.insertInto("t", overwrite=True)',
        READ,
        P,
    ),
    Spelling(
        "insertInto with partitionBy",
        'df.select("id", "name", "k").write.partitionBy("k").insertInto("t")',
        READ,
        P,
        error="Partition columns",
    ),
    Spelling(
        "insertInto of too few columns",
        'df.select("id").write.insertInto("t")',
        READ,
        T,
        error="not enough data columns",
    ),
    Spelling(
        "dynamic INSERT OVERWRITE of a partition by no rows",
        DYNAMIC + "INSERT OVERWRITE t PARTITION (k = 0) SELECT 9, 'z' WHERE false",
        READ,
        P,
    ),
    Spelling(
        "dynamic INSERT OVERWRITE by no rows, with a common table expression",
        DYNAMIC
        + "WITH s AS (SELECT 9, 'z' WHERE false) INSERT OVERWRITE t PARTITION (K = '0') SELECT * FROM s",
        READ,
        P,
    ),
    Spelling(
        "dynamic INSERT OVERWRITE by no rows, the partition in the rows",
        DYNAMIC + "INSERT OVERWRITE t SELECT 9, 'z', 0 WHERE false",
        READ,
        P,
    ),
    Spelling(
        "INSERT OVERWRITE … PARTITION … IF NOT EXISTS",
        "INSERT OVERWRITE t PARTITION (k = 0) IF NOT EXISTS VALUES (9, 'z')",
        forbidden="INSERT_PARTITION_SPEC_IF_NOT_EXISTS",
        given=P,
        note="Leave out `IF NOT EXISTS` where the partition does not exist.",
    ),
    Spelling(
        "INSERT with the LEGACY store assignment",
        "SET spark.sql.storeAssignmentPolicy=LEGACY; INSERT INTO t VALUES ('7', 'z')",
        forbidden="LEGACY store assignment policy is disallowed",
        given=T,
        note="Cast the values, and set it to ANSI.",
    ),
    Spelling(
        "INSERT with the STRICT store assignment",
        "SET spark.sql.storeAssignmentPolicy=STRICT; INSERT INTO t VALUES (7L, 'z')",
        READ,
        T,
        error="CANNOT_SAFELY_CAST",
    ),
    Spelling(
        "INSERT of all columns but one",
        "INSERT INTO t SELECT * EXCEPT (x) FROM (SELECT *, 1 AS x FROM t)",
        READ,
        T,
    ),
    Spelling(
        "INSERT INTO a view",
        "CREATE VIEW w2 AS SELECT * FROM t; INSERT INTO w2 VALUES (9, 'z')",
        READ,
        T,
        error="EXPECT_TABLE_NOT_VIEW",
    ),
    Spelling("CACHE LAZY TABLE, then INSERT", "CACHE LAZY TABLE t; INSERT INTO t TABLE t", READ, T),
    Spelling(
        "CACHE TABLE, then INSERT OVERWRITE",
        "CACHE TABLE t; INSERT OVERWRITE t VALUES (9, 'z')",
        READ,
        T,
    ),
    Spelling("CACHE TABLE, then TRUNCATE", "CACHE TABLE t; TRUNCATE TABLE t", READ, T),
    Spelling(
        "CACHE TABLE, then DROP PARTITION",
        "CACHE TABLE t; ALTER TABLE t DROP PARTITION (k = 0)",
        READ,
        P,
    ),
    Spelling(
        "a cached table, then saveAsTable",
        'spark.catalog.cacheTable("t")\nspark.table("t").count()\n'
        'df.select("id", "name").write.format("mosaic").mode("append").saveAsTable("t")',
        READ,
        T,
    ),
    Spelling(
        "saveAsTable, append, with another path",
        'df.select("id", "name", "k").write.format("mosaic").mode("append").partitionBy("k").option("path", path).saveAsTable("t")',
        'spark.table("t"), os.path.exists(path)',
        P,
        error="leave out the option path",
    ),
    Spelling(
        "insertInto with the option path",
        'df.select("id", "name", "k").write.option("path", path).insertInto("t")',
        'spark.table("t"), os.path.exists(path)',
        P,
        note="A table stays where it is.",
    ),
    Spelling(
        "insertInto with overwrite and the option path",
        'df.select("id", "name", "k").write.option("path", path).insertInto("t", overwrite=True)',
        'spark.table("t"), os.path.exists(path)',
        P,
    ),
    Spelling(
        "writeTo append with another path",
        'df.select("id", "name", "k").writeTo("t").option("path", path).append()',
        'spark.table("t"), os.path.exists(path)',
        P,
        error="leave out the option path",
    ),
]
