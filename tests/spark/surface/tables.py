"""Tables: made, filled, described and dropped in SQL and by DataFrames."""

from tests.spark.surface.spellings import Spelling
from tests.spark.versions import can

KIND = "Make tables"
READ = "SELECT * FROM t"
MADE = 'df.write.format("mosaic").saveAsTable("t")'
MADE_BY_K = 'df.write.format("mosaic").partitionBy("k").saveAsTable("t")'

ROWS = [
    Spelling("saveAsTable", 'df.write.format("mosaic").saveAsTable("t")', READ),
    Spelling(
        "saveAsTable where a table is",
        'df.write.format("mosaic").saveAsTable("t")',
        READ,
        MADE,
        error="already exists",
    ),
    Spelling(
        "saveAsTable, mode ignore",
        'df.where("id < 3").write.format("mosaic").mode("ignore").saveAsTable("t")',
        READ,
        MADE,
    ),
    Spelling(
        "saveAsTable, mode append",
        'df.where("id < 3").write.format("mosaic").mode("append").saveAsTable("t")',
        READ,
        MADE,
    ),
    Spelling(
        "saveAsTable, mode append, where no table is",
        'df.write.format("mosaic").mode("append").saveAsTable("t")',
        READ,
    ),
    Spelling(
        "saveAsTable, mode append, columns in another order",
        'df.select("day", "value", "name", "k", "id").write.format("mosaic").mode("append").saveAsTable("t")',
        READ,
        MADE,
    ),
    Spelling(
        "saveAsTable, mode overwrite",
        'df.where("id < 3").write.format("mosaic").mode("overwrite").saveAsTable("t")',
        READ,
        MADE,
    ),
    Spelling(
        "saveAsTable, mode overwrite, other columns",
        'df.selectExpr("id AS x").write.format("mosaic").mode("overwrite").saveAsTable("t")',
        READ,
        MADE,
    ),
    Spelling(
        "saveAsTable overwrites the table it reads",
        'spark.table("t").where("id < 3").write.format("mosaic").mode("overwrite").saveAsTable("t")',
        'spark.table("t").count() == 2',
        MADE,
        only="overwrite",
    ),
    Spelling(
        "saveAsTable with partitionBy",
        'df.write.format("mosaic").partitionBy("k").saveAsTable("t")',
        READ,
    ),
    Spelling(
        "saveAsTable with arguments",
        'df.write.saveAsTable("t", format="mosaic", mode="overwrite", partitionBy=["k", "day"])',
        READ,
    ),
    Spelling(
        "saveAsTable with partitionBy, append",
        'df.write.format("mosaic").mode("append").partitionBy("k").saveAsTable("t")',
        READ,
        MADE_BY_K,
    ),
    Spelling(
        "saveAsTable with partitionBy in another case, append",
        'df.write.format("mosaic").mode("append").partitionBy("K").saveAsTable("t")',
        READ,
        MADE_BY_K,
        note="From Python, not on Connect; elsewhere, as the table has it.",
    ),
    Spelling(
        "saveAsTable with partitionBy in another case, append, arguments",
        'df.selectExpr("id", "k AS `a b`").write.saveAsTable("t", "mosaic", "append", "`A B`")',
        READ,
        "CREATE TABLE t (id INT, `a b` INT) USING mosaic PARTITIONED BY (`a b`)",
        parquet='df.selectExpr("id", "k AS `a b`").write.saveAsTable("t", "parquet", "append", "A B")',
        note="Names with spaces or dots need backticks here.",
    ),
    Spelling(
        "saveAsTable with partitionBy in another case, append, case sensitive",
        'spark.conf.set("spark.sql.caseSensitive", True)\ndf.write.format("mosaic").mode("append").partitionBy("K").saveAsTable("t")',
        READ,
        MADE_BY_K,
        error="write partitionBy('k'), or leave partitionBy out",
    ),
    Spelling(
        "saveAsTable, append with other partitions",
        'df.write.format("mosaic").mode("append").partitionBy("day").saveAsTable("t")',
        READ,
        MADE_BY_K,
        error="write partitionBy('k'), or leave partitionBy out",
    ),
    Spelling(
        "saveAsTable with a path",
        'df.write.format("mosaic").option("path", path).saveAsTable("t")',
        'spark.table("t").count(), len(files(path)) > 0',
    ),
    Spelling(
        "saveAsTable with a path, dropped: files stay",
        'df.write.format("mosaic").option("path", path).saveAsTable("t")\nspark.sql("DROP TABLE t")',
        'spark.read.format("mosaic").load(path)',
    ),
    Spelling(
        "saveAsTable with bucketBy",
        'df.write.format("mosaic").bucketBy(2, "id").saveAsTable("t")',
        'not spark.catalog.tableExists("t")',
        refused="bucket",
    ),
    Spelling(
        "saveAsTable with bucketBy and sortBy",
        'df.write.format("mosaic").bucketBy(2, "id").sortBy("name").saveAsTable("t")',
        'not spark.catalog.tableExists("t")',
        refused="bucket",
    ),
    Spelling(
        "saveAsTable with the name of the database",
        'df.write.format("mosaic").saveAsTable("surface.t")',
        READ,
    ),
    Spelling(
        "saveAsTable with the name of the catalog",
        'df.write.format("mosaic").saveAsTable("spark_catalog.surface.t")',
        READ,
    ),
    Spelling(
        "saveAsTable with odd names of columns",
        'df.selectExpr("id AS `a b`", "k AS `x.y`", "name AS `ä`").write.format("mosaic").saveAsTable("t")',
        READ,
    ),
    Spelling(
        "saveAsTable of no rows", 'df.where("false").write.format("mosaic").saveAsTable("t")', READ
    ),
    Spelling(
        "the format as the default of the session",
        'spark.conf.set("spark.sql.sources.default", "mosaic")\ndf.write.saveAsTable("t")\nspark.sql("DESCRIBE EXTENDED t").where("col_name = \'Provider\'").select("data_type")',
    ),
    Spelling(
        "CREATE TABLE with the default format",
        "SET spark.sql.sources.default=mosaic; CREATE TABLE t (a INT, b STRING); INSERT INTO t VALUES (1, 'x')",
        READ,
    ),
    Spelling("CREATE TABLE", "CREATE TABLE t (id INT, name STRING) USING mosaic", READ),
    Spelling(
        "CREATE TABLE in another case",
        "CREATE TABLE t (id INT) USING Mosaic",
        READ,
        parquet="CREATE TABLE t (id INT) USING Parquet",
    ),
    Spelling(
        "CREATE TABLE where a table is",
        "CREATE TABLE t (id INT) USING mosaic",
        READ,
        MADE,
        error="already exists",
    ),
    Spelling(
        "CREATE TABLE IF NOT EXISTS",
        "CREATE TABLE IF NOT EXISTS t (id INT) USING mosaic",
        READ,
        MADE,
    ),
    Spelling(
        "CREATE TABLE with OPTIONS (path)",
        "CREATE TABLE t USING mosaic OPTIONS (path '{data}')",
        READ,
    ),
    Spelling(
        "CREATE TABLE with columns over files",
        "CREATE TABLE t (id INT, name STRING) USING mosaic LOCATION '{data}'",
        READ,
    ),
    Spelling(
        "CREATE TABLE with columns in another case",
        "CREATE TABLE t (ID INT, NAME STRING) USING mosaic LOCATION '{data}'",
        READ,
    ),
    Spelling(
        "CREATE TABLE with columns in another order",
        "CREATE TABLE t (name STRING, id INT) USING mosaic LOCATION '{data}'",
        READ,
    ),
    Spelling(
        "CREATE TABLE over partitions",
        "CREATE TABLE t (id INT, k INT) USING mosaic PARTITIONED BY (k) LOCATION '{parts}'; MSCK REPAIR TABLE t",
        READ,
    ),
    Spelling(
        "CREATE TABLE PARTITIONED BY",
        "CREATE TABLE t (id INT, name STRING, k INT) USING mosaic PARTITIONED BY (k); INSERT INTO t VALUES (1, 'a', 0), (2, 'b', 1)",
        READ,
    ),
    Spelling(
        "CREATE TABLE PARTITIONED BY, keys come last",
        "CREATE TABLE t (k INT, id INT) USING mosaic PARTITIONED BY (k)",
        READ,
    ),
    Spelling(
        "CREATE TABLE PARTITIONED BY a new column",
        "CREATE TABLE t (id INT) USING mosaic PARTITIONED BY (k INT)",
        'spark.catalog.tableExists("t")',
    ),
    Spelling(
        "CREATE TABLE PARTITIONED BY an unknown column",
        "CREATE TABLE t (id INT) USING mosaic PARTITIONED BY (nothing)",
        'spark.catalog.tableExists("t")',
        error="nothing",
    ),
    Spelling(
        "CREATE TABLE PARTITIONED BY two columns",
        "CREATE TABLE t (id INT, k INT, day DATE) USING mosaic PARTITIONED BY (k, day); INSERT INTO t VALUES (1, 0, DATE'2024-05-30')",
        'spark.table("t").collect(), sorted({os.path.dirname(name) for name in files(spark.sql("DESCRIBE EXTENDED t").where("col_name = \'Location\'").first()[1].removeprefix("file:"))})',
    ),
    Spelling(
        "CREATE TABLE PARTITIONED BY a transform",
        "CREATE TABLE t (id INT, day DATE) USING mosaic PARTITIONED BY (years(day))",
        'spark.catalog.tableExists("t")',
        error="years",
    ),
    Spelling(
        "CREATE TABLE CLUSTERED BY",
        "CREATE TABLE t (id INT) USING mosaic CLUSTERED BY (id) INTO 2 BUCKETS",
        'not spark.catalog.tableExists("t")',
        refused="CLUSTERED BY",
    ),
    Spelling(
        "CREATE TABLE DEFAULT",
        "CREATE TABLE t (id INT, name STRING DEFAULT 'none') USING mosaic; INSERT INTO t (id) VALUES (1); INSERT INTO t VALUES (2, DEFAULT)",
        READ,
        needs="missing columns",
    ),
    Spelling(
        "CREATE TABLE GENERATED ALWAYS AS",
        "CREATE TABLE t (id INT, twice INT GENERATED ALWAYS AS (id * 2)) USING mosaic",
        'spark.catalog.tableExists("t")',
        error="enerated",
    ),
    Spelling(
        "CREATE TABLE with an identity column",
        "CREATE TABLE t (id BIGINT GENERATED ALWAYS AS IDENTITY, a INT) USING mosaic",
        'spark.catalog.tableExists("t")',
        error="dentity",
    ),
    Spelling(
        "CREATE TABLE with OPTIONS",
        "CREATE TABLE t (id INT) USING mosaic OPTIONS (compression 'zstd'); INSERT INTO t VALUES (1)",
        READ,
    ),
    Spelling(
        "CREATE TABLE with LOCATION where nothing is",
        "CREATE TABLE t (id INT) USING mosaic LOCATION '{path}'; INSERT INTO t VALUES (1)",
        'spark.read.format("mosaic").load(path)',
    ),
    Spelling(
        "CREATE TABLE LIKE",
        "CREATE TABLE u LIKE t; INSERT INTO u SELECT * FROM t WHERE id < 3",
        "SELECT * FROM u",
        MADE,
    ),
    Spelling(
        "CREATE TABLE LIKE, with partitions",
        "CREATE TABLE u LIKE t; INSERT INTO u SELECT * FROM t",
        "SHOW PARTITIONS u",
        MADE_BY_K,
    ),
    Spelling(
        "CREATE TABLE LIKE … USING",
        "CREATE TABLE u LIKE t USING mosaic; INSERT INTO u SELECT * FROM t WHERE id < 3",
        "SELECT * FROM u",
        'df.write.format("json").saveAsTable("t")',
    ),
    Spelling(
        "CREATE TABLE IF NOT EXISTS LIKE",
        "CREATE TABLE IF NOT EXISTS u LIKE t LOCATION '{path}'; INSERT INTO u SELECT * FROM t",
        "len(files(path)) > 0",
        MADE,
    ),
    Spelling(
        "CREATE TABLE AS",
        "CREATE TABLE t USING mosaic AS SELECT id, id * 2 AS twice FROM range(3)",
        READ,
    ),
    Spelling(
        "CREATE TABLE AS with partitions",
        "CREATE TABLE t USING mosaic PARTITIONED BY (k) AS SELECT id, id % 2 AS k FROM range(5)",
        READ,
    ),
    Spelling(
        "CREATE TABLE AS with a location",
        "CREATE TABLE t USING mosaic LOCATION '{path}' AS SELECT id FROM range(3)",
        'spark.read.format("mosaic").load(path)',
    ),
    Spelling(
        "CREATE TABLE AS where a table is",
        "CREATE TABLE t USING mosaic AS SELECT 1 AS x",
        READ,
        MADE,
        error="already exists",
    ),
    Spelling(
        "CREATE TABLE IF NOT EXISTS AS",
        "CREATE TABLE IF NOT EXISTS t USING mosaic AS SELECT 1 AS x",
        READ,
        MADE,
    ),
    Spelling(
        "CREATE TABLE AS from the same format",
        "CREATE TABLE t USING mosaic AS SELECT id, name FROM mosaic.`{data}` WHERE k > 0",
        READ,
    ),
    Spelling(
        "CREATE TABLE AS with a comment and options",
        "CREATE TABLE t USING mosaic OPTIONS (compression 'none') COMMENT 'c' TBLPROPERTIES (a = 'b') AS SELECT 1 AS x",
        READ,
    ),
    Spelling(
        "CREATE OR REPLACE TABLE AS",
        "CREATE OR REPLACE TABLE t USING mosaic AS SELECT id FROM t WHERE id < 3",
        '[tuple(row) for row in spark.table("t").orderBy("id").collect()] == [(1,), (2,)]',
        MADE,
        only="REPLACE",
    ),
    Spelling(
        "REPLACE TABLE AS",
        "REPLACE TABLE t USING mosaic AS SELECT id FROM t WHERE id < 3",
        'spark.table("t").count() == 2',
        MADE,
        only="REPLACE",
    ),
    Spelling(
        "CREATE OR REPLACE TABLE",
        "CREATE OR REPLACE TABLE t (x INT) USING mosaic",
        'spark.table("t").columns == ["x"] and spark.table("t").count() == 0',
        MADE,
        only="REPLACE",
    ),
    Spelling("writeTo create", 'df.writeTo("t").using("mosaic").create()', READ),
    Spelling(
        "saveAsTable appends rows that lack a column",
        'df.select("id").write.format("mosaic").mode("append").saveAsTable("t")',
        READ,
        "CREATE TABLE t (id INT, name STRING) USING mosaic",
        # Spark 4.0 itself refuses them.
        error="lack columns" if can("missing columns") else "CANNOT_FIND_DATA",
    ),
    Spelling(
        "recoverPartitions",
        'spark.catalog.recoverPartitions("t")',
        READ,
        'df.write.format("mosaic").partitionBy("k").saveAsTable("t")',
    ),
    Spelling(
        "DESCRIBE AS JSON",
        'import json\ntold = spark.sql("DESCRIBE EXTENDED t AS JSON").collect()[0][0]\n'
        '[column["name"] for column in json.loads(told)["columns"]]',
        given="CREATE TABLE t (id INT, name STRING) USING mosaic",
    ),
    Spelling(
        "saveAsTable, dynamic overwrite by option",
        'df.where("k = 1").limit(1).write.format("mosaic").partitionBy("k").option("partitionOverwriteMode", "dynamic").mode("overwrite").saveAsTable("t")',
        READ,
        MADE_BY_K,
        note="A table is replaced as a whole.",
    ),
    Spelling(
        "saveAsTable of rows without columns",
        'df.select().write.format("mosaic").saveAsTable("t")',
        'spark.catalog.tableExists("t")',
        error="select at least one column",
    ),
    Spelling(
        "CREATE TABLE AS with two partition columns",
        "CREATE TABLE t USING mosaic PARTITIONED BY (k, day) AS SELECT day, id, k, name FROM mosaic.`{data}`",
        READ,
    ),
    Spelling(
        "PARTITIONED BY in another case",
        "CREATE TABLE t (Id INT, K INT) USING mosaic PARTITIONED BY (k); INSERT INTO t VALUES (1, 2)",
        READ,
    ),
    Spelling(
        "CREATE TABLE with columns over partitions that it does not declare",
        "CREATE TABLE t (id INT) USING mosaic LOCATION '{parts}'",
        "SELECT * FROM t WHERE k = 1",
    ),
    Spelling(
        "CREATE TABLE over partitions, whose column is not the last",
        "CREATE TABLE t (k INT, id INT) USING mosaic LOCATION '{parts}'",
        'spark.table("t"), spark.table("t").columns',
    ),
    Spelling(
        "CREATE TABLE over partitions, whose column is in another case",
        "CREATE TABLE t (id INT, K STRING) USING mosaic LOCATION '{parts}'",
        "DESCRIBE t K; SELECT id, K FROM t WHERE k = '1'",
    ),
    Spelling(
        "SHOW PARTITIONS of a table over partitions in another case",
        "CREATE TABLE t (K INT, id INT) USING mosaic LOCATION '{parts}'",
        "SHOW PARTITIONS t",
        parquet="CREATE TABLE t (K INT, id INT) USING parquet PARTITIONED BY (K) LOCATION '{parts}'; "
        "MSCK REPAIR TABLE t",
    ),
    Spelling(
        "catalog.createTable over partitions that the schema lacks",
        'spark.catalog.createTable("t", parts, "mosaic", df.select("id", "name").schema)',
        'spark.table("t")',
    ),
]
