"""Reading: ``spark.read`` and SQL over paths."""

from tests.spark.surface.spellings import Spelling

KIND = "Read a path"
DATA = 'spark.read.format("mosaic").load(data)'
PARTS = 'spark.read.format("mosaic").load(parts)'
# Four files in two partitions, the later ones with another column.
EVOLVED = (
    'df.select("id", "k").coalesce(1).write.format("mosaic").mode("append").save(path + "/a")\n'
    'df.select("id", "name").coalesce(1).write.format("mosaic").mode("append").save(path + "/b")'
)
NESTED = (
    'df.where("k = 0").write.format("mosaic").save(path + "/a/b")\n'
    'df.where("k = 1").write.format("mosaic").save(path + "/c")'
)

ROWS = [
    Spelling("load", 'spark.read.format("mosaic").load(data)'),
    Spelling("load, the format as an argument", 'spark.read.load(data, format="mosaic")'),
    Spelling("load by the option path", 'spark.read.format("mosaic").option("path", data).load()'),
    Spelling("load several paths", 'spark.read.format("mosaic").load([data, data])'),
    Spelling(
        "load several partitions",
        'spark.read.format("mosaic").load([parts + "/k=0", parts + "/k=2"])',
    ),
    # One file: names are random, so that any file but the only one would be another in each format.
    Spelling(
        "load a file",
        'spark.read.format("mosaic").load(path + "/" + files(path)[0])',
        given='df.coalesce(1).write.format("mosaic").save(path)',
    ),
    Spelling("load a pattern of files", 'spark.read.format("mosaic").load(data + "/*.mosaic")'),
    Spelling("load a pattern of partitions", 'spark.read.format("mosaic").load(parts + "/k=*")'),
    Spelling("pattern with alternatives", 'spark.read.format("mosaic").load(parts + "/k={0,1}")'),
    Spelling("pattern with a class", 'spark.read.format("mosaic").load(parts + "/k=[12]")'),
    Spelling("pattern with a range", 'spark.read.format("mosaic").load(parts + "/k=[0-1]")'),
    Spelling("pattern with a negated class", 'spark.read.format("mosaic").load(parts + "/k=[^0]")'),
    Spelling("pattern with a question mark", 'spark.read.format("mosaic").load(parts + "/k=?")'),
    Spelling(
        "pattern of files in partitions", 'spark.read.format("mosaic").load(parts + "/*/*.mosaic")'
    ),
    Spelling(
        "pattern that matches nothing",
        'spark.read.format("mosaic").load(parts + "/nothing*")',
        error="nothing",
    ),
    Spelling("one partition, without its key", 'spark.read.format("mosaic").load(parts + "/k=1")'),
    Spelling(
        "basePath keeps the key",
        'spark.read.format("mosaic").option("basePath", parts).load(parts + "/k=1")',
    ),
    Spelling(
        "basePath with a pattern",
        'spark.read.format("mosaic").option("basePath", parts).load(parts + "/k=*/*.mosaic")',
    ),
    Spelling(
        "basePath with several paths",
        'spark.read.format("mosaic").option("basePath", parts).load([parts + "/k=0", parts + "/k=1"])',
    ),
    Spelling(
        "basePath that is not above",
        'spark.read.format("mosaic").option("basePath", data).load(parts + "/k=1")',
        error="basePath",
    ),
    Spelling(
        "an empty directory",
        'spark.read.format("mosaic").load(path)',
        given="os.makedirs(path)",
        error="schema",
    ),
    Spelling(
        "an empty directory with a schema",
        'spark.read.schema("a int").format("mosaic").load(path)',
        given="os.makedirs(path)",
    ),
    Spelling("no path", 'spark.read.format("mosaic").load()', error="path"),
    Spelling(
        "a file of another kind",
        'spark.read.format("mosaic").load(path).collect()',
        given='os.makedirs(path)\nPath(path + "/x").write_text("text" * 100)',
        error="x",
    ),
    Spelling(
        "hidden files are left out",
        'spark.read.format("mosaic").load(path)',
        given='df.write.format("mosaic").save(path)\nPath(path + "/_x").write_text("x")\nPath(path + "/.x").write_text("x")',
    ),
    Spelling(
        "schema as text", 'spark.read.schema("id int, name string").format("mosaic").load(data)'
    ),
    Spelling(
        "schema in another order",
        'spark.read.schema("name string, id int").format("mosaic").load(data)',
    ),
    Spelling(
        "schema with a column that files lack",
        'spark.read.schema("id int, extra string").format("mosaic").load(data)',
    ),
    Spelling(
        "schema in another case",
        'spark.read.schema("ID int, Name string").format("mosaic").load(data)',
    ),
    Spelling(
        "schema in another case, case sensitive",
        'spark.conf.set("spark.sql.caseSensitive", True)\nspark.read.schema("ID int, name string").format("mosaic").load(data)',
    ),
    Spelling(
        "schema with a wider type", 'spark.read.schema("id long").format("mosaic").load(data)'
    ),
    Spelling(
        "schema with a partition column",
        'spark.read.schema("id int, k string").format("mosaic").load(parts)',
    ),
    Spelling(
        "schema with the partition column first",
        'spark.read.schema("k int, id int").format("mosaic").load(parts)',
    ),
    Spelling(
        "schema without the partition column",
        'spark.read.schema("id int").format("mosaic").load(parts)',
    ),
    Spelling(
        "schema as a StructType",
        'from pyspark.sql.types import IntegerType, StructType\nspark.read.schema(StructType().add("id", IntegerType(), False)).format("mosaic").load(data)',
    ),
    Spelling(
        "schema as an argument of load", 'spark.read.load(data, format="mosaic", schema="id int")'
    ),
    Spelling(
        "schema with an incompatible type",
        'spark.read.schema("name int").format("mosaic").load(data).collect()',
        error="name",
    ),
    Spelling("schema of another frame", 'spark.read.schema(df.schema).format("mosaic").load(data)'),
    Spelling(
        "mergeSchema",
        'spark.read.option("mergeSchema", True).format("mosaic").load([path + "/a", path + "/b"])',
        given=EVOLVED,
    ),
    Spelling(
        "mergeSchema false takes the first file's",
        'spark.read.option("mergeSchema", "false").format("mosaic").load(path + "/a")',
        given=EVOLVED,
    ),
    Spelling(
        "mergeSchema as a setting",
        'spark.conf.set("spark.sql.parquet.mergeSchema", True)\nspark.read.format("mosaic").load([path + "/a", path + "/b"])',
        given=EVOLVED,
    ),
    Spelling(
        "mergeSchema of types that do not unite",
        'spark.read.option("mergeSchema", True).format("mosaic").load([path + "/a", path + "/b"])',
        given='df.selectExpr("name AS x").write.format("mosaic").save(path + "/a")\ndf.selectExpr("day AS x").write.format("mosaic").save(path + "/b")',
        error="x",
    ),
    Spelling(
        "recursiveFileLookup",
        'spark.read.option("recursiveFileLookup", True).format("mosaic").load(path)',
        given=NESTED,
    ),
    Spelling(
        "recursiveFileLookup reads no keys",
        'spark.read.option("recursiveFileLookup", "true").format("mosaic").load(parts)',
    ),
    Spelling(
        "nested directories without recursiveFileLookup",
        'spark.read.schema(df.schema).format("mosaic").load(path)',
        given=NESTED,
    ),
    Spelling(
        "pathGlobFilter",
        'spark.read.option("pathGlobFilter", "*.mosaic").format("mosaic").load(path)',
        given='df.write.format("mosaic").save(path)\nPath(path + "/notes.txt").write_text("x")',
    ),
    Spelling(
        "pathGlobFilter with alternatives",
        'spark.read.option("pathGlobFilter", "*.{mosaic,other}").format("mosaic").load(data)',
    ),
    Spelling(
        "pathGlobFilter that matches nothing",
        'spark.read.schema("id int").option("pathGlobFilter", "*.txt").format("mosaic").load(data)',
    ),
    Spelling(
        "modifiedBefore",
        'spark.read.schema("id int").option("modifiedBefore", "2020-01-01T00:00:00").format("mosaic").load(data)',
    ),
    Spelling(
        "modifiedAfter",
        'spark.read.option("modifiedAfter", "2020-01-01T00:00:00").format("mosaic").load(data)',
    ),
    Spelling(
        "modifiedAfter the future",
        'spark.read.schema("id int").option("modifiedAfter", "2050-01-01T00:00:00").format("mosaic").load(data)',
    ),
    Spelling(
        "modifiedAfter with a time zone",
        'spark.read.option("modifiedAfter", "2020-01-01T00:00:00").option("timeZone", "America/New_York").format("mosaic").load(data)',
    ),
    Spelling(
        "modifiedAfter that is not a time",
        'spark.read.option("modifiedAfter", "yesterday").format("mosaic").load(data).collect()',
        error="modifiedAfter",
    ),
    Spelling(
        "ignoreMissingFiles",
        'frame = spark.read.option("ignoreMissingFiles", True).format("mosaic").load(path)\nos.remove(path + "/" + files(path)[0])\nframe.count() < 6',
        given='df.repartition(3).write.format("mosaic").save(path)',
    ),
    Spelling(
        "ignoreMissingFiles as a setting",
        'spark.conf.set("spark.sql.files.ignoreMissingFiles", True)\nframe = spark.read.format("mosaic").load(path)\nos.remove(path + "/" + files(path)[0])\nlen(frame.collect()) < 6',
        given='df.repartition(3).write.format("mosaic").save(path)',
    ),
    Spelling(
        "ignoreCorruptFiles",
        'spark.read.schema(df.schema).option("ignoreCorruptFiles", True).format("mosaic").load(path)',
        given='df.write.format("mosaic").save(path)\nPath(path + "/part-x.mosaic").write_text("no" * 1000)',
    ),
    Spelling(
        "ignoreCorruptFiles as a setting",
        'spark.conf.set("spark.sql.files.ignoreCorruptFiles", True)\nspark.read.schema(df.schema).format("mosaic").load(path)',
        given='df.write.format("mosaic").save(path)\nPath(path + "/part-x.mosaic").write_text("no" * 1000)',
    ),
    Spelling(
        "ignoreCorruptFiles without a schema",
        'spark.read.option("ignoreCorruptFiles", "true").format("mosaic").load(path).count()',
        given='df.write.format("mosaic").save(path)\nPath(path + "/part-x.mosaic").write_text("no" * 1000)',
    ),
    Spelling(
        "a damaged file",
        'spark.read.schema(df.schema).format("mosaic").load(path).collect()',
        given='df.write.format("mosaic").save(path)\nPath(path + "/part-x.mosaic").write_text("no" * 1000)',
        error="part-x.mosaic",
    ),
    Spelling(
        "options of other sources (header, inferSchema) are ignored",
        'spark.read.option("header", True).option("inferSchema", True).format("mosaic").load(data)',
    ),
    Spelling(
        "options by name",
        'spark.read.options(mergeSchema=True, recursiveFileLookup=False).format("mosaic").load(data)',
    ),
    Spelling(
        "options as arguments of load", 'spark.read.load(data, format="mosaic", mergeSchema=True)'
    ),
    Spelling(
        "an option that is almost right",
        'spark.read.option("colums", "id").format("mosaic").load(data)',
        refused="did you mean 'columns'",
        note="Parquet ignores it.",
    ),
    Spelling(
        "input_file_name",
        'spark.read.format("mosaic").load(data).selectExpr("id", "input_file_name() LIKE \'file:///%.mosaic\' AS there")',
    ),
    Spelling(
        "input_file_name by group",
        'sorted(row["count"] for row in spark.read.format("mosaic").load(data).groupBy(f.input_file_name()).count().collect())',
    ),
    Spelling(
        "input_file_name is the file",
        'sorted({row[0].rsplit("/", 1)[1] for row in spark.read.format("mosaic").load(data).select(f.input_file_name()).collect()}) == files(data)',
    ),
    Spelling(
        "inputFiles",
        'sorted(name.rsplit("/", 1)[1] for name in spark.read.format("mosaic").load(data).inputFiles()) == files(data)',
    ),
    Spelling(
        "inputFiles are URIs",
        '{name.split(path[:4])[0] for name in spark.read.format("mosaic").load(data).inputFiles()}',
    ),
    Spelling(
        "_metadata.file_name",
        'sorted({row[0] for row in spark.read.format("mosaic").load(data).select("_metadata.file_name").collect()}) == files(data)',
    ),
    Spelling(
        "_metadata.file_size",
        'rows = spark.read.format("mosaic").load(data).select("_metadata.file_name", "_metadata.file_size").distinct().collect()\n{name: size for name, size in rows} == {name: os.path.getsize(os.path.join(data, name)) for name in files(data)}',
    ),
    Spelling(
        "_metadata.file_modification_time",
        'spark.read.format("mosaic").load(data).selectExpr("id", "_metadata.file_modification_time BETWEEN timestamp\'2020-01-01\' AND current_timestamp() AS now")',
    ),
    Spelling(
        "_metadata.file_block_start",
        'spark.read.format("mosaic").load(data).select("id", "_metadata.file_block_start").where("id = 1")',
    ),
    Spelling(
        "_metadata, all of it",
        'spark.read.format("mosaic").load(data).select("_metadata").schema.simpleString()',
    ),
    Spelling(
        "_metadata in a filter",
        'name = files(data)[0]\nspark.read.format("mosaic").load(data).where(f.col("_metadata.file_name") == name).count()',
    ),
    Spelling(
        "_metadata.row_index in a filter",
        'spark.read.format("mosaic").load(data).where("_metadata.row_index = 1").select("id")',
    ),
    Spelling(
        "_metadata.row_index and a column in a filter",
        f'{DATA}.where("_metadata.row_index < 2 AND id > 1").select("id", "_metadata.row_index")',
    ),
    Spelling(
        "_metadata with a filter on partitions",
        f'{PARTS}.where("k = 1").select("id", "k", "_metadata.row_index")',
    ),
    Spelling(
        "_metadata in a filter that keeps nothing",
        f"""{DATA}.where("_metadata.file_name = 'no'").count()""",
    ),
    Spelling(
        "_metadata in groups", f'{DATA}.groupBy("_metadata.file_name").count().select("count")'
    ),
    Spelling(
        "_metadata in aggregates",
        f'{DATA}.agg(f.max("_metadata.row_index"), f.countDistinct("_metadata.file_path"), f.count("*"))',
    ),
    Spelling(
        "_metadata in an order",
        f'[row.id for row in {DATA}.orderBy("_metadata.row_index", "id").collect()]',
    ),
    Spelling(
        "_metadata in a join",
        f"""a = {DATA}.select("id", f.col("_metadata.row_index").alias("a"))
b = {PARTS}.select("id", f.col("_metadata.row_index").alias("b"))
a.join(b, "id")""",
    ),
    Spelling(
        "_metadata under another name",
        f'{DATA}.withColumn("m", f.col("_metadata")).select("m.row_index", "id")',
    ),
    Spelling(
        "_metadata that is cached",
        f'{DATA}.select("id", "_metadata.row_index").cache().where("row_index = 1")',
    ),
    Spelling(
        "_metadata that is written",
        f'{DATA}.select("id", "_metadata.row_index").write.format("mosaic").save(path)',
        'spark.read.format("mosaic").load(path)',
    ),
    Spelling(
        "a column of users called _metadata",
        """df.withColumnRenamed("name", "_metadata").write.format("mosaic").save(path)
spark.read.format("mosaic").load(path).select("_metadata")""",
    ),
    Spelling(
        "_metadata of a path in SQL",
        "SELECT id, _metadata.row_index FROM mosaic.`{data}` WHERE _metadata.row_index > 0;",
    ),
    Spelling(
        "_metadata of a path in a subquery",
        "SELECT count(*) FROM mosaic.`{data}` WHERE _metadata.file_name IN (SELECT _metadata.file_name FROM mosaic.`{data}` WHERE id = 1);",
    ),
    Spelling(
        "_metadata of a table",
        "SELECT id, _metadata.row_index FROM t WHERE _metadata.file_name LIKE 'part%';",
        given='df.write.format("mosaic").saveAsTable("t")',
    ),
    Spelling(
        "input_file_block_start and input_file_block_length",
        f'{DATA}.selectExpr("id", "input_file_block_start()", "input_file_block_length() > 0")',
    ),
    Spelling("_metadata is not a column of *", 'spark.read.format("mosaic").load(data).columns'),
    Spelling("a path in SQL", "SELECT * FROM mosaic.`{data}`"),
    Spelling(
        "a path in SQL, with partitions", "SELECT k, count(*) AS n FROM mosaic.`{parts}` GROUP BY k"
    ),
    Spelling("a pattern in SQL", "SELECT * FROM mosaic.`{parts}/k=*`"),
    Spelling(
        "paths in SQL, joined",
        "SELECT a.id, b.name FROM mosaic.`{data}` a JOIN mosaic.`{parts}` b ON a.id = b.id WHERE b.k = 1",
    ),
    Spelling("a path in a subquery", "SELECT 1 AS one WHERE 3 IN (SELECT id FROM mosaic.`{data}`)"),
    Spelling(
        "the name of the format in capitals in SQL",
        "SELECT id FROM MOSAIC.`{data}`",
        parquet="SELECT id FROM PARQUET.`{data}`",
    ),
    Spelling(
        "a path in SQL that does not exist",
        "SELECT * FROM mosaic.`{path}`",
        error="Path does not exist",
    ),
    Spelling("a path as a table name of the session", 'spark.table(f"mosaic.`{data}`")'),
    Spelling("a path as a table name of the reader", 'spark.read.table(f"mosaic.`{data}`")'),
    Spelling("describe a query of a path", "DESCRIBE QUERY SELECT * FROM mosaic.`{data}`"),
    Spelling("show columns of a path", 'spark.sql(f"SELECT * FROM mosaic.`{parts}`").columns'),
    Spelling(
        "a temporary view",
        'spark.read.format("mosaic").load(parts).createOrReplaceTempView("v")\nspark.sql("SELECT k, max(id) AS m FROM v GROUP BY k")',
    ),
    Spelling(
        "CREATE TEMPORARY VIEW USING",
        "CREATE TEMPORARY VIEW v USING mosaic OPTIONS (path '{parts}'); SELECT * FROM v",
    ),
    Spelling(
        "CREATE TEMPORARY VIEW with a schema",
        "CREATE OR REPLACE TEMPORARY VIEW v (id INT, k INT) USING mosaic OPTIONS (path '{parts}'); SELECT * FROM v",
    ),
    Spelling(
        "a view of a path", "CREATE VIEW w2 AS SELECT id FROM mosaic.`{data}`; SELECT * FROM w2"
    ),
    Spelling(
        "a global temporary view",
        'spark.read.format("mosaic").load(data).createOrReplaceGlobalTempView("g")\nrows = spark.sql("SELECT * FROM global_temp.g").collect()\nspark.catalog.dropGlobalTempView("g")\nrows',
    ),
    Spelling(
        "two formats in one query",
        'other = path\ndf.write.json(other)\nspark.read.format("mosaic").load(data).join(spark.read.json(other), "id").select("id")',
    ),
    Spelling(
        "a helper that reads",
        "import pymosaic.spark\npymosaic.spark.read(spark, data)",
        parquet="spark.read.parquet(data)",
    ),
    Spelling(
        "a helper that reads some columns",
        'import pymosaic.spark\npymosaic.spark.read(spark, data, columns=["id", "na*"])',
        parquet='spark.read.parquet(data).select("id", "name")',
    ),
    Spelling(
        "a path with spaces",
        'spark.read.format("mosaic").load(path + "/a b")',
        given='df.write.format("mosaic").save(path + "/a b")',
    ),
    Spelling("a URI", 'spark.read.format("mosaic").load("file://" + data)'),
    Spelling("a relative path", 'spark.read.format("mosaic").load(os.path.relpath(data))'),
    Spelling(
        "new files are seen by a new frame",
        'spark.read.format("mosaic").load(path).count()\ndf.write.format("mosaic").mode("append").save(path)\nspark.read.format("mosaic").load(path).count()',
        given='df.write.format("mosaic").save(path)',
    ),
    Spelling(
        "REFRESH of a path",
        'spark.sql(f"REFRESH \'{data}\'")\nspark.read.format("mosaic").load(data).count()',
    ),
    Spelling(
        "partition inference switched off",
        'spark.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", False)\nspark.read.format("mosaic").load(parts)',
    ),
    Spelling(
        "maxPartitionBytes as a setting",
        'spark.conf.set("spark.sql.files.maxPartitionBytes", "64m")\nspark.read.format("mosaic").load(data)',
    ),
    Spelling(
        "small files share a task", 'spark.read.format("mosaic").load(parts).rdd.getNumPartitions()'
    ),
    Spelling(
        "pattern of partitions in braces",
        'spark.read.format("mosaic").load(parts + "/{k=0,k=[12]}").count()',
    ),
    Spelling(
        "patterns of partitions and files in braces",
        'spark.read.format("mosaic").load(parts + "/k={0,2}/*.{mosaic,other}").count()',
    ),
    Spelling(
        "several patterns",
        'spark.read.format("mosaic").load([parts + "/k=0*", parts + "/k={1,2}"]).count()',
    ),
    Spelling(
        "basePath with braces",
        'spark.read.format("mosaic").option("basePath", parts).load(parts + "/k={0,2}").groupBy("k").count()',
    ),
    Spelling(
        "names in another case, case sensitive",
        f'spark.conf.set("spark.sql.caseSensitive", True)\n{DATA}.select("ID")',
        error="UNRESOLVED_COLUMN",
    ),
    Spelling(
        "options of a path in SQL", "SELECT count(*) FROM mosaic.`{data}` WITH (mergeSchema = true)"
    ),
    Spelling(
        "input_file_name of a join",
        'spark.read.format("mosaic").load(parts).join(spark.read.format("mosaic").load(data), "id").select(f.input_file_name()).collect()',
        error="more than one source",
    ),
    Spelling(
        "input_file_name of a join with rows of no file",
        'spark.read.format("mosaic").load(parts).join(f.broadcast(spark.range(2)), "id").select("id", f.input_file_name().like("%.mosaic").alias("there"))',
    ),
    Spelling(
        "input_file_name of an outer join with rows of no file",
        'spark.range(2).join(spark.read.format("mosaic").load(parts), "id", "right").where(f.input_file_name().like("%.mosaic")).select("id", "k")',
    ),
    Spelling(
        "input_file_name of a union of joins",
        'one = spark.read.format("mosaic").load(parts).crossJoin(spark.range(1).toDF("x"))\none.union(one).select("id", f.input_file_name().like("%.mosaic").alias("there"))',
    ),
    Spelling(
        "input_file_name of a union",
        'spark.read.format("mosaic").load(parts).select("id").union(spark.read.format("mosaic").load(data).select("id")).select("id", f.input_file_name().like("%.mosaic").alias("there"))',
    ),
    Spelling(
        "input_file_name of exploded rows",
        'spark.read.format("mosaic").load(parts).withColumn("x", f.expr("explode(array(1, 2))")).select("id", "x", f.input_file_name().like("%.mosaic").alias("there"))',
    ),
    Spelling(
        "input_file_name of a sample",
        'spark.read.format("mosaic").load(parts).sample(1.0, seed=1).select("id", f.input_file_name().like("%.mosaic").alias("there"))',
    ),
    Spelling(
        "input_file_name of rows in an order",
        'spark.read.format("mosaic").load(parts).orderBy("id").limit(3).select(f.input_file_name().like("%.mosaic").alias("there")).distinct().collect() == [(True,)]',
        better="The file is known; Parquet has forgotten it, as for all rows that were shuffled.",
    ),
    Spelling(
        "a column in files and directories",
        'spark.read.format("mosaic").load(path).select("id", "k", "name")',
        given='df.write.format("mosaic").save(path + "/id=77")',
        note="The directory tells its value. It is the last column.",
    ),
    Spelling(
        "empty files, and files that are being copied",
        'spark.read.format("mosaic").load(path)',
        # Parquet may take the schema from the empty one.
        parquet='spark.read.schema(df.schema).format("parquet").load(path)',
        given='df.write.format("mosaic").save(path)\nopen(path + "/empty", "w").close()\n'
        'Path(path, "part.mosaic._COPYING_").write_text("half")',
    ),
    Spelling(
        "schema with a name twice",
        'spark.read.schema("ID int, id int").format("mosaic").load(data).collect()',
        error="COLUMN_ALREADY_EXISTS",
    ),
    Spelling(
        "schema with a name twice, case sensitive",
        'spark.conf.set("spark.sql.caseSensitive", True)\nspark.read.schema("ID int, id int").format("mosaic").load(data)',
    ),
]
