"""Tables by `spark.catalog` and `writeTo`, and what may be declared of their columns."""

from tests.spark.surface.spellings import Spelling

KIND = "The catalog and writeTo"
READ = "SELECT * FROM t"
T = "CREATE TABLE t (id INT, name STRING) USING mosaic; INSERT INTO t VALUES (1, 'a'), (2, 'b')"
P = "CREATE TABLE t (id INT, name STRING, k INT) USING mosaic PARTITIONED BY (k); INSERT INTO t VALUES (1, 'a', 0), (2, 'b', 0), (3, 'c', 1)"
IDS = '[row.id for row in spark.table("t").orderBy("id").collect()]'

ROWS = [
    Spelling(
        "comments",
        "CREATE TABLE t (id INT COMMENT 'number', name STRING COMMENT \"it's\") USING mosaic COMMENT 'words'",
        "DESCRIBE t",
    ),
    Spelling(
        "NOT NULL",
        "CREATE TABLE t (id INT NOT NULL) USING mosaic; INSERT INTO t VALUES (1), (NULL)",
        READ,
        note="Not enforced.",
    ),
    Spelling(
        "NOT NULL over files with nulls",
        "CREATE TABLE t (id INT NOT NULL, name STRING NOT NULL) USING mosaic LOCATION '{data}'; SELECT * FROM t WHERE name IS NULL",
    ),
    Spelling(
        "CHECK",
        "CREATE TABLE t (id INT CHECK (id > 0)) USING mosaic",
        'spark.catalog.tableExists("t")',
        error="onstraint",
        needs="constraints",
    ),
    Spelling(
        "PRIMARY KEY",
        "CREATE TABLE t (id INT PRIMARY KEY) USING mosaic",
        'spark.catalog.tableExists("t")',
        error="onstraint",
        needs="constraints",
    ),
    Spelling(
        "neither columns nor files",
        "CREATE TABLE t USING mosaic",
        'spark.catalog.tableExists("t")',
        error="needs columns or LOCATION",
    ),
    Spelling(
        "catalog.createTable",
        'spark.catalog.createTable("t", source="mosaic", schema=df.schema)',
        READ,
    ),
    Spelling(
        "catalog.createTable of a path", 'spark.catalog.createTable("t", data, "mosaic")', READ
    ),
    Spelling(
        "catalog.createExternalTable",
        'spark.catalog.createExternalTable("t", data, "mosaic")',
        READ,
    ),
    Spelling(
        "catalog.tableExists",
        'spark.catalog.tableExists("t"), spark.catalog.tableExists("surface.t"), spark.catalog.tableExists("u")',
        given=T,
    ),
    Spelling(
        "catalog.listColumns",
        '[tuple(column) for column in spark.catalog.listColumns("t")]',
        given=P,
    ),
    Spelling(
        "catalog.cacheTable",
        'spark.catalog.cacheTable("t")\n'
        'found = spark.catalog.isCached("t"), spark.table("t").count()\n'
        'spark.catalog.uncacheTable("t")\n'
        'found, spark.catalog.isCached("t")',
        given=T,
    ),
    Spelling(
        "catalog.refreshTable",
        'spark.catalog.refreshTable("t")\nspark.table("t").count()',
        given=T,
    ),
    Spelling(
        "catalog.refreshByPath",
        'spark.catalog.refreshByPath(data)\nspark.read.format("mosaic").load(data).count()',
    ),
    Spelling(
        "writeTo create, partitionedBy",
        'df.writeTo("t").using("mosaic").partitionedBy("k").create()',
        "SHOW PARTITIONS t",
    ),
    Spelling(
        "writeTo create, partitionedBy a function",
        'df.writeTo("t").using("mosaic").partitionedBy(f.partitioning.years("day")).create()',
        'spark.catalog.tableExists("t")',
        error="years",
    ),
    Spelling(
        "writeTo create, tableProperty and option",
        'df.writeTo("t").using("mosaic").tableProperty("a", "b").option("compression", "none").create()',
        "SHOW TBLPROPERTIES t ('a')",
    ),
    Spelling(
        "writeTo create with a path",
        'df.writeTo("t").using("mosaic").option("path", path).create()',
        'spark.table("t").count(), len(files(path)) > 0',
    ),
    Spelling(
        "writeTo create where a table is",
        'df.writeTo("t").using("mosaic").create()',
        READ,
        T,
        error="already exists",
    ),
    Spelling(
        "writeTo append",
        'df.select("name", "id").writeTo("t").append()',
        f"{IDS} == [1, 1, 2, 2, 3, 4, 5, 6]",
        T,
        only="v1 table",
        note="By name.",
    ),
    Spelling(
        "writeTo overwritePartitions",
        'df.where("k = 1").select("id", "name", "k").writeTo("t").overwritePartitions()',
        f"{IDS} == [1, 2, 3, 4]",
        P,
        only="v1 table",
    ),
    Spelling(
        "writeTo overwrite",
        'df.where("k = 1").select("id", "name", "k").writeTo("t").overwrite(f.col("k") == 1)',
        f"{IDS} == [1, 2, 3, 4]",
        P,
        only="v1 table",
    ),
    Spelling(
        "writeTo overwrite of everything",
        'df.select("id", "name", "k").writeTo("t").overwrite(f.lit(True))',
        f"{IDS} == [1, 2, 3, 4, 5, 6]",
        P,
        only="v1 table",
    ),
    Spelling(
        "catalog.getTable",
        'table = spark.catalog.getTable("t")\n'
        "table.name, table.namespace, table.description, table.tableType, table.isTemporary",
        given="CREATE TABLE t (id INT COMMENT 'number') USING mosaic COMMENT 'words'",
    ),
    Spelling(
        "catalog.getTable of a path",
        'spark.catalog.getTable("t").description, spark.catalog.getTable("t").tableType',
        given="CREATE TABLE t USING mosaic OPTIONS (path '{data}') COMMENT 'words'",
    ),
    Spelling(
        "writeTo create, partitionedBy columns",
        'df.writeTo("t").using("mosaic").options(compression="zstd").partitionedBy(f.col("k"), f.col("day")).create()',
        READ,
    ),
    Spelling(
        "writeTo append where no table is",
        'df.writeTo("t").append()',
        'spark.catalog.tableExists("t")',
        error="TABLE_OR_VIEW_NOT_FOUND",
    ),
    Spelling(
        "mergeInto",
        'df.alias("s").mergeInto("t", f.expr("t.id = s.id")).whenMatched().delete().merge()',
        READ,
        T,
        error="MERGE INTO TABLE",
    ),
    Spelling(
        "read.table with the option path",
        'spark.read.option("path", data).table("t")',
        given="CREATE TABLE t (x INT) USING mosaic; INSERT INTO t VALUES (1)",
        note="A table stays where it is.",
    ),
    Spelling(
        "recursiveFileLookup of a table with partitions",
        'spark.read.option("recursiveFileLookup", True).table("t").collect()',
        given="CREATE TABLE t (x INT, k INT) USING mosaic PARTITIONED BY (k); INSERT INTO t VALUES (1, 2)",
        error="ecursive",
        needs="recursive",
    ),
    Spelling(
        "the option partitioning of a table with partitions",
        'spark.read.option("partitioning", "none").table("t").collect()',
        "True",
        given="CREATE TABLE t (x INT, k INT) USING mosaic PARTITIONED BY (k); INSERT INTO t VALUES (1, 2)",
        refused="leave it out",
        note="Parquet has no such option.",
    ),
]
