"""Changing and describing tables."""

from tests.spark.surface.spellings import Spelling

KIND = "Change and describe tables"
READ = "SELECT * FROM t"
T = "CREATE TABLE t (id INT, name STRING) USING mosaic; INSERT INTO t VALUES (1, 'a'), (2, 'b')"
P = "CREATE TABLE t (id INT, name STRING, k INT) USING mosaic PARTITIONED BY (k); INSERT INTO t VALUES (1, 'a', 0), (2, 'b', 0), (3, 'c', 1)"
P2 = "CREATE TABLE t (id INT, k INT, g STRING) USING mosaic PARTITIONED BY (k, g); INSERT INTO t VALUES (1, 0, 'x'), (2, 0, 'y'), (3, 1, 'x')"

ROWS = [
    Spelling("ALTER TABLE ADD COLUMNS", "ALTER TABLE t ADD COLUMNS (extra DOUBLE)", READ, T),
    Spelling(
        "ALTER TABLE CLUSTER BY",
        "ALTER TABLE t CLUSTER BY (id)",
        "spark.sql(\"DESCRIBE t\").where(\"col_name LIKE 'Part%' OR data_type LIKE 'cluster%'\").isEmpty()",
        T,
        refused="CLUSTER BY",
    ),
    Spelling("ALTER TABLE CLUSTER BY NONE", "ALTER TABLE t CLUSTER BY NONE", READ, T),
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
    Spelling(
        "ALTER TABLE SET LOCATION",
        "ALTER TABLE t SET LOCATION '{data}'",
        READ,
        "CREATE TABLE t (id INT, name STRING) USING mosaic LOCATION '{path}'",
    ),
    Spelling(
        "ALTER TABLE SET TBLPROPERTIES",
        "ALTER TABLE t SET TBLPROPERTIES ('note' = 'mine')",
        "SHOW TBLPROPERTIES t ('note')",
        T,
    ),
    Spelling(
        "ALTER TABLE UNSET TBLPROPERTIES",
        "ALTER TABLE t UNSET TBLPROPERTIES ('note')",
        "SHOW TBLPROPERTIES t ('note')",
        "CREATE TABLE t (id INT) USING mosaic TBLPROPERTIES (note = 'mine')",
    ),
    Spelling("SHOW PARTITIONS", "SHOW PARTITIONS t", given=P2),
    Spelling(
        "SHOW PARTITIONS with NULL",
        "SHOW PARTITIONS t",
        given="CREATE TABLE t (id INT, s STRING, k INT) USING mosaic PARTITIONED BY (s, k); "
        "INSERT INTO t VALUES (1, NULL, 1), (2, 'a/b c', NULL), (3, NULL, NULL), (4, 'null', 3)",
    ),
    Spelling(
        "SHOW PARTITIONS of some, with NULL",
        "SHOW PARTITIONS t PARTITION (S = 'x')",
        given="CREATE TABLE t (id INT, s STRING, k TIMESTAMP) USING mosaic PARTITIONED BY (s, k); "
        "INSERT INTO t VALUES (1, 'x', NULL), (2, 'x', TIMESTAMP'2024-01-01 10:30:00'), (3, NULL, NULL)",
    ),
    Spelling("SHOW PARTITIONS of some", "SHOW PARTITIONS t PARTITION (k = 0)", given=P2),
    Spelling(
        "SHOW PARTITIONS where there are none",
        "SHOW PARTITIONS t",
        given=T,
        error="not partitioned",
    ),
    Spelling("DESCRIBE", "DESCRIBE t", given=P),
    Spelling(
        "DESCRIBE a column",
        "DESCRIBE t name",
        given="CREATE TABLE t (id INT, name STRING COMMENT 'c') USING mosaic",
    ),
    Spelling(
        "DESCRIBE EXTENDED a column",
        "DESCRIBE EXTENDED t NAME",
        given="CREATE TABLE t (id INT, name VARCHAR(9) COMMENT 'c') USING mosaic",
    ),
    Spelling(
        "DESCRIBE EXTENDED a column, analysed",
        "DESCRIBE EXTENDED t id",
        given=T + "; ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS id",
    ),
    Spelling("DESCRIBE a column that is not there", "DESCRIBE t nope", given=T, error="nope"),
    Spelling(
        "DESCRIBE a partition",
        'spark.sql("DESCRIBE t PARTITION (k = 0)").select("col_name", "data_type")',
        given=P,
        needs="describe partitions",
    ),
    Spelling(
        "DESCRIBE EXTENDED",
        "spark.sql(\"DESCRIBE EXTENDED t\").where(\"col_name IN ('id', 'k', '# Partition Information', 'Type', 'Provider', 'Comment', 'Location')\").distinct()",
        given="CREATE TABLE t (id INT COMMENT 'number', k INT) USING mosaic PARTITIONED BY (k) COMMENT 'words'",
    ),
    Spelling(
        "DESCRIBE EXTENDED tells database and table",
        "spark.sql(\"DESCRIBE EXTENDED t\").where(\"col_name IN ('Database', 'Table')\")",
        given=P,
        needs="describe names",
    ),
    Spelling(
        "SHOW CREATE TABLE",
        "SHOW CREATE TABLE t",
        given="CREATE TABLE t (id INT COMMENT 'number', k STRING) USING mosaic PARTITIONED BY (k) COMMENT 'words' TBLPROPERTIES (a = 'b')",
    ),
    Spelling(
        "SHOW CREATE TABLE makes the table again",
        'text = spark.sql("SHOW CREATE TABLE t").collect()[0][0]\nspark.sql("DROP TABLE t")\nspark.sql(text)\nspark.table("t").schema.simpleString()',
        given=P,
    ),
    Spelling("SHOW COLUMNS", "SHOW COLUMNS IN t", given=P),
    Spelling("SHOW TABLES", "SHOW TABLES", given=T),
    Spelling(
        "SHOW TABLE EXTENDED",
        'spark.sql("SHOW TABLE EXTENDED LIKE \'t*\'").select("namespace", "tableName", "isTemporary")',
        given=T,
    ),
    Spelling(
        "SHOW TBLPROPERTIES",
        "SHOW TBLPROPERTIES t ('a')",
        given="CREATE TABLE t (id INT) USING mosaic TBLPROPERTIES (a = 'b')",
    ),
    Spelling("TRUNCATE TABLE", "TRUNCATE TABLE t", READ, P),
    Spelling("TRUNCATE TABLE … PARTITION", "TRUNCATE TABLE t PARTITION (k = 0)", READ, P),
    Spelling("TRUNCATE TABLE, one of two keys", "TRUNCATE TABLE t PARTITION (k = 0)", READ, P2),
    Spelling(
        "ALTER TABLE … ADD PARTITION",
        "ALTER TABLE t ADD IF NOT EXISTS PARTITION (k = 7); INSERT INTO t PARTITION (k = 7) VALUES (9, 'z')",
        READ,
        P,
        note="A partition is there once it has rows.",
    ),
    Spelling("ALTER TABLE … DROP PARTITION", "ALTER TABLE t DROP PARTITION (k = 0)", READ, P),
    Spelling(
        "ALTER TABLE … DROP two partitions",
        "ALTER TABLE t DROP PARTITION (k = 0), PARTITION (k = 1) PURGE",
        READ,
        P,
    ),
    Spelling(
        "ALTER TABLE … DROP IF EXISTS PARTITION",
        "ALTER TABLE t DROP IF EXISTS PARTITION (k = 5)",
        READ,
        P,
    ),
    Spelling(
        "ALTER TABLE … DROP PARTITION that is not there",
        "ALTER TABLE t DROP PARTITION (k = 5)",
        READ,
        P,
        error="PARTITIONS_NOT_FOUND",
    ),
    Spelling(
        "DELETE FROM, partitions",
        "DELETE FROM t WHERE k = 0",
        '[row.id for row in spark.table("t").collect()] == [3]',
        P,
        only="DELETE",
        note="Without reading a row.",
    ),
    Spelling(
        "DELETE FROM, all rows", "DELETE FROM t", 'spark.table("t").count() == 0', P, only="DELETE"
    ),
    Spelling(
        "DELETE FROM, single rows",
        "DELETE FROM t WHERE id = 1",
        READ,
        P,
        error="INSERT OVERWRITE table SELECT * FROM table WHERE NOT",
    ),
    Spelling("UPDATE", "UPDATE t SET name = 'z' WHERE id = 1", READ, T, error="UPDATE"),
    Spelling(
        "MERGE",
        "MERGE INTO t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
        READ,
        T,
        error="MERGE",
    ),
    Spelling("MSCK REPAIR TABLE", "MSCK REPAIR TABLE t", READ, P),
    Spelling("ALTER TABLE RECOVER PARTITIONS", "ALTER TABLE t RECOVER PARTITIONS", READ, P),
    Spelling("REFRESH TABLE", "REFRESH TABLE t", READ, P),
    Spelling(
        "ANALYZE TABLE",
        "ANALYZE TABLE t COMPUTE STATISTICS; ANALYZE TABLE t COMPUTE STATISTICS NOSCAN",
        READ,
        T,
    ),
    Spelling(
        "ANALYZE TABLE FOR COLUMNS",
        "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS id; ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS",
        READ,
        T,
    ),
    Spelling(
        "ANALYZE TABLE … PARTITION", "ANALYZE TABLE t PARTITION (k = 0) COMPUTE STATISTICS", READ, P
    ),
    Spelling(
        "ALTER COLUMN COMMENT", "ALTER TABLE t ALTER COLUMN name COMMENT 'c'", "DESCRIBE t", T
    ),
    Spelling(
        "COMMENT ON TABLE",
        "COMMENT ON TABLE t IS 'words'",
        'spark.sql("DESCRIBE EXTENDED t").where("col_name = \'Comment\'").select("data_type")',
        T,
    ),
    Spelling(
        "DROP TABLE deletes the files",
        'place = spark.sql("DESCRIBE EXTENDED t").where("col_name = \'Location\'").first()[1].removeprefix("file:")\nspark.sql("DROP TABLE t")\nos.path.exists(place)',
        given=T,
    ),
    Spelling("CACHE TABLE, then INSERT", "CACHE TABLE t; INSERT INTO t VALUES (3, 'c')", READ, T),
    Spelling(
        "CACHE TABLE … AS",
        "CACHE TABLE v AS SELECT * FROM t WHERE id = 1; SELECT * FROM v",
        given=T,
    ),
    Spelling(
        "RENAME COLUMN",
        "ALTER TABLE t RENAME COLUMN name TO n",
        READ,
        T,
        error="CREATE OR REPLACE TABLE",
    ),
    Spelling(
        "DROP COLUMN", "ALTER TABLE t DROP COLUMN name", READ, T, error="CREATE OR REPLACE TABLE"
    ),
    Spelling(
        "ALTER COLUMN TYPE",
        "ALTER TABLE t ALTER COLUMN id TYPE BIGINT",
        READ,
        T,
        error="NOT_SUPPORTED_CHANGE_COLUMN",
    ),
    Spelling(
        "REPLACE COLUMNS",
        "ALTER TABLE t REPLACE COLUMNS (x INT)",
        READ,
        T,
        error="CREATE OR REPLACE TABLE",
    ),
    Spelling(
        "ALTER COLUMN SET NOT NULL",
        "ALTER TABLE t ALTER COLUMN id SET NOT NULL",
        READ,
        T,
        error="nullable",
    ),
    Spelling(
        "ADD COLUMN NOT NULL",
        "ALTER TABLE t ADD COLUMN more INT NOT NULL",
        READ,
        T,
        error="leave out NOT NULL",
    ),
    Spelling(
        "a view sees new rows",
        "CREATE VIEW w2 AS SELECT id FROM t; INSERT INTO t VALUES (9, 'z'); SELECT * FROM w2",
        given=T,
    ),
    Spelling(
        "TRUNCATE TABLE … PARTITION that is not there",
        "TRUNCATE TABLE t PARTITION (k = 77)",
        READ,
        P,
        error="PARTITIONS_NOT_FOUND",
    ),
    Spelling(
        "ALTER TABLE … ADD PARTITION that is there",
        "ALTER TABLE t ADD PARTITION (k = 0)",
        READ,
        P,
        error="PARTITIONS_ALREADY_EXIST",
    ),
    Spelling(
        "ALTER TABLE … ADD PARTITION … LOCATION",
        "ALTER TABLE t ADD PARTITION (k = 9) LOCATION '{path}'",
        refused="write the rows with INSERT INTO table PARTITION",
        given=P,
    ),
    Spelling(
        "ALTER TABLE … PARTITION … SET LOCATION",
        "ALTER TABLE t PARTITION (k = 0) SET LOCATION '{path}'",
        forbidden="does not support partition for v2 tables",
        given=P,
        note="`INSERT OVERWRITE t PARTITION (…) SELECT …` copies the rows.",
    ),
    Spelling(
        "ALTER TABLE SET SERDEPROPERTIES",
        "ALTER TABLE t SET SERDEPROPERTIES ('compression' = 'zstd'); INSERT INTO t VALUES (3, 'c'); SELECT * FROM t",
        "SHOW CREATE TABLE t",
        T,
        note="These are the options of the table.",
    ),
    Spelling(
        "ALTER TABLE SET SERDEPROPERTIES, unknown option",
        "ALTER TABLE t SET SERDEPROPERTIES ('a' = 'b')",
        'spark.table("t").count() == 2',
        T,
        refused="no option 'a'",
        note="`SET TBLPROPERTIES` takes any name.",
    ),
    Spelling(
        "ALTER TABLE SET SERDEPROPERTIES, path",
        "ALTER TABLE t SET SERDEPROPERTIES ('Path' = '{path}')",
        'spark.table("t").count() == 2',
        T,
        refused="ALTER TABLE table SET LOCATION does",
    ),
    Spelling(
        "ALTER TABLE SET SERDE",
        "ALTER TABLE t SET SERDE 'x'",
        "SHOW CREATE TABLE t",
        T,
        error="SERDE",
    ),
    Spelling(
        "ALTER TABLE … PARTITION … SET SERDEPROPERTIES",
        "ALTER TABLE t PARTITION (k = 0) SET SERDEPROPERTIES ('compression' = 'zstd')",
        "SHOW CREATE TABLE t",
        P,
        error="SERDEPROPERTIES",
    ),
    Spelling(
        "ALTER TABLE RENAME TO a name that is taken",
        "ALTER TABLE t RENAME TO u",
        READ,
        T + "; CREATE TABLE u USING mosaic AS SELECT 1 AS x",
        error="TABLE_OR_VIEW_ALREADY_EXISTS",
    ),
    Spelling("MSCK REPAIR TABLE … SYNC PARTITIONS", "MSCK REPAIR TABLE t SYNC PARTITIONS", READ, P),
    Spelling(
        "MSCK REPAIR TABLE without partitions",
        "MSCK REPAIR TABLE t",
        READ,
        T,
        error="not partitioned",
    ),
    Spelling("ANALYZE TABLES", "ANALYZE TABLES IN surface COMPUTE STATISTICS", READ, T),
    Spelling(
        "ANALYZE TABLE … PARTITION … NOSCAN",
        "ANALYZE TABLE t PARTITION (k) COMPUTE STATISTICS NOSCAN",
        READ,
        P,
    ),
    Spelling(
        "ANALYZE TABLE FOR an unknown column",
        "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS nothing",
        READ,
        T,
        error="COLUMN_NOT_FOUND",
    ),
    Spelling("SHOW TABLES LIKE", "SHOW TABLES LIKE 't*'", given=T),
]
