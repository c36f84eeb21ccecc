"""What queries over frames do, and what their plans say."""

from tests.spark.surface.spellings import Spelling

KIND = "Queries and plans"
DATA = 'spark.read.format("mosaic").load(data)'
PARTS = 'spark.read.format("mosaic").load(parts)'

ROWS = [
    Spelling("show", f"{DATA}._show_string(20, 20, False).count(chr(10))"),
    Spelling("count", f"{DATA}.count()"),
    Spelling("count with a filter", f'{DATA}.where("value > 0").count()'),
    Spelling("isEmpty", f'{DATA}.isEmpty(), {DATA}.where("id > 99").isEmpty()'),
    Spelling(
        "first, head, take",
        f'{DATA}.orderBy("id").first(), {DATA}.orderBy("id").head(2), {DATA}.orderBy("id").take(1)',
    ),
    Spelling("limit", f"{DATA}.limit(3).count()"),
    Spelling("limit zero", f"{DATA}.limit(0)"),
    Spelling("offset", f'{DATA}.orderBy("id").offset(4)'),
    Spelling("limit and offset", f'{DATA}.orderBy("id").offset(1).limit(2)'),
    Spelling("tail", f'[row.id for row in {DATA}.orderBy("id").tail(2)]'),
    Spelling("sample of everything", f"{DATA}.sample(1.0).count()"),
    Spelling("sample of nothing", f"{DATA}.sample(0.0).count()"),
    Spelling(
        "sample with a seed",
        'spark.read.format("mosaic").load(data).coalesce(1).sample(0.5, seed=3).count() <= 6',
    ),
    Spelling("randomSplit", f"sum(part.count() for part in {DATA}.randomSplit([0.5, 0.5], 3))"),
    Spelling("toPandas", f'{DATA}.orderBy("id").toPandas().to_dict("list")["id"]'),
    Spelling("toArrow", f'{DATA}.orderBy("id").toArrow().column("name").to_pylist()'),
    Spelling("toLocalIterator", f"sorted(row.id for row in {DATA}.toLocalIterator())"),
    Spelling("rdd", f"sorted({DATA}.rdd.map(lambda row: row.id).collect())"),
    Spelling("foreach", f"{DATA}.foreach(lambda row: None)"),
    Spelling("toJSON", f'sorted({DATA}.select("id", "k").toJSON().collect())'),
    Spelling(
        "cache",
        f'frame = {DATA}.cache()\nframe.count(), frame.where("id > 3").count(), frame.unpersist() is frame',
    ),
    Spelling("persist and checkpoint", f"{DATA}.localCheckpoint()"),
    Spelling(
        "one cache for two loads of a path",
        f'{DATA}.cache().count()\n"InMemoryTableScan" in {DATA}._jdf.queryExecution().executedPlan().toString()',
    ),
    Spelling(
        "equal frames are the same",
        f"{DATA}.sameSemantics({DATA}), {DATA}.semanticHash() == {DATA}.semanticHash()",
    ),
    Spelling(
        "exchange reuse in self-joins",
        f'spark.conf.set("spark.sql.adaptive.enabled", False)\nspark.conf.set("spark.sql.autoBroadcastJoinThreshold", -1)\na, b = {DATA}.groupBy("k").count(), {DATA}.groupBy("k").count()\n"ReusedExchange" in a.join(b, "k")._jdf.queryExecution().executedPlan().toString()',
    ),
    Spelling("union of a frame with itself", f"{DATA}.union({DATA}).groupBy('id').count()"),
    Spelling(
        "unionByName with missing columns",
        f'{DATA}.select("id", "k").unionByName({DATA}.select("id", "name"), allowMissingColumns=True)',
    ),
    Spelling(
        "intersect and subtract",
        f'{DATA}.subtract({PARTS}.select("id", "k", "name", "value", "day").where("id < 3"))',
    ),
    Spelling(
        "self-join",
        f'a = {DATA}\na.alias("a").join(a.alias("b"), f.col("a.id") == f.col("b.k")).select("a.id", "b.name")',
    ),
    Spelling(
        "join with a local frame",
        f'{DATA}.join(spark.createDataFrame([(0, "zero")], "k int, word string"), "k", "left")',
    ),
    Spelling(
        "broadcast join by size",
        f'"BroadcastHashJoin" in {DATA}.join({PARTS}, "id")._jdf.queryExecution().executedPlan().toString()',
    ),
    Spelling("broadcast by hint", f'{DATA}.join(f.broadcast({PARTS}.select("id")), "id", "semi")'),
    Spelling("group by", f'{DATA}.groupBy("k").agg(f.sum("value"), f.max("name"), f.count("*"))'),
    Spelling("group by partitions", f'{PARTS}.groupBy("k").agg(f.min("day"))'),
    Spelling(
        "min, max and count", f'{DATA}.agg(f.min("id"), f.max("id"), f.count("*"), f.count("name"))'
    ),
    Spelling("min and max of a partition column", f'{PARTS}.agg(f.min("k"), f.max("k"))'),
    Spelling("distinct", f'{DATA}.select("k").distinct()'),
    Spelling("distinct of a partition column", f'{PARTS}.select("k").distinct()'),
    Spelling("dropDuplicates", f'{DATA}.dropDuplicates(["k"]).count()'),
    Spelling("describe", f'{DATA}.describe("id", "value")'),
    Spelling("summary", f'{DATA}.select("id").summary("min", "max", "count")'),
    Spelling("approxQuantile", f'{DATA}.approxQuantile("id", [0.5], 0.0)'),
    Spelling("corr", f'{DATA}.where("value is not null").corr("id", "k")'),
    Spelling("crosstab", f'{DATA}.crosstab("k", "name").count()'),
    Spelling("pivot", f'{DATA}.groupBy("k").pivot("name").agg(f.first("id"))'),
    Spelling("unpivot", f'{DATA}.unpivot("id", ["k"], "what", "value")'),
    Spelling(
        "window",
        f'from pyspark.sql import Window\n{DATA}.withColumn("n", f.row_number().over(Window.partitionBy("k").orderBy("id"))).select("id", "n")',
    ),
    Spelling("fillna and dropna", f'{DATA}.fillna("none").dropna().select("id", "name")'),
    Spelling("replace", f'{DATA}.replace("a", "z").select("name")'),
    Spelling("withColumn and drop", f'{DATA}.withColumn("x", f.col("id") * 2).drop("name", "day")'),
    Spelling(
        "withColumnRenamed", f'{DATA}.withColumnRenamed("id", "ID2").where("ID2 > 3").select("ID2")'
    ),
    Spelling(
        "selectExpr and filters of functions",
        f'{DATA}.where("upper(name) = \'A\' OR length(name) > 2").selectExpr("id", "name || \'!\' AS s")',
    ),
    Spelling("colRegex", f'{DATA}.select({DATA}.colRegex("`(id|k)`"))'),
    Spelling("names in another case", f'{DATA}.select("ID", "Name").where("Id < 4")'),
    Spelling("an unknown column", f'{DATA}.select("nmae")', error="name"),
    Spelling("filter on a partition column", f'{PARTS}.where("k = 1")'),
    Spelling(
        "filter on a partition column and another",
        f'{PARTS}.where("k > 0 AND id < 5 OR name IS NULL")',
    ),
    Spelling("filter on a partition column as text", f"{PARTS}.where(\"k = '1'\")"),
    Spelling(
        "isin, between, like, rlike",
        f'{DATA}.where(f.col("id").isin(1, 3, 5) & f.col("k").between(0, 1) | f.col("name").like("f%") | f.col("name").rlike("^d"))',
    ),
    Spelling("null-safe equality", f'{DATA}.where(f.col("name").eqNullSafe(None))'),
    Spelling(
        "startswith, endswith, contains",
        f'{DATA}.where(f.col("name").startswith("f") | f.col("name").endswith("b") | f.col("name").contains("d"))',
    ),
    Spelling(
        "dates as text in filters", f"{DATA}.where(\"day >= '2024-05-31' AND day < '9999-12-31'\")"
    ),
    Spelling(
        "folded comparisons",
        f'{DATA}.where("coalesce(id < 3000000000, false)").count(), {DATA}.select(f.expr("(id = 1.5) is null").alias("x"))',
    ),
    Spelling(
        "dynamic partition pruning",
        f'spark.conf.set("spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly", False)\nfrom_other = {DATA}.where("name = \'a\'").select("k")\n{PARTS}.join(from_other, "k")',
    ),
    Spelling(
        "dynamic partition pruning in the plan",
        f'spark.conf.set("spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly", False)\nspark.conf.set("spark.sql.optimizer.dynamicPartitionPruning.useStats", False)\n"dynamicpruning" in {PARTS}.join(df.where("name = \'a\'").hint("broadcast"), "k")._jdf.queryExecution().executedPlan().toString().lower()',
    ),
    Spelling(
        "Python UDF", f'{DATA}.select(f.udf(lambda value: value + 1, "int")("id").alias("x"))'
    ),
    Spelling("pandas UDF", f"{DATA}.mapInPandas(lambda frames: frames, {DATA}.schema)"),
    Spelling(
        "applyInPandas",
        f'{DATA}.groupBy("k").applyInPandas(lambda frame: frame[["k"]].head(1), "k int")',
    ),
    Spelling(
        "repartition and coalesce", f"{DATA}.repartition(3).coalesce(1).rdd.getNumPartitions()"
    ),
    Spelling(
        "observe",
        f'from pyspark.sql import Observation\nseen = Observation("o")\n{DATA}.observe(seen, f.count("*").alias("n")).collect()\nseen.get',
    ),
    Spelling("explain", f'{DATA}.where("id > 3").select("id").explain()'),
    Spelling(
        "explain extended and formatted",
        f'{PARTS}.explain(True), {PARTS}.explain("formatted"), {PARTS}.explain(mode="cost")',
    ),
    Spelling(
        "explain names the columns that are read",
        f'text = {DATA}.where("id > 3").select("id")._sc._jvm.PythonSQLUtils.explainString({DATA}.where("id > 3").select("id")._jdf.queryExecution(), "formatted")\n"ReadSchema: struct<id:int>" in text, "GreaterThan(id,3)" in text or "id > 3" in text',
    ),
    Spelling("storageLevel", f"str({DATA}.storageLevel)"),
    Spelling(
        "lateral and explode",
        "SELECT id, e FROM mosaic.`{data}` LATERAL VIEW explode(array(k, k + 1)) x AS e WHERE id < 3",
    ),
    Spelling(
        "scalar subquery",
        "SELECT id FROM mosaic.`{data}` WHERE id = (SELECT max(id) FROM mosaic.`{data}`)",
    ),
    Spelling(
        "correlated subquery",
        "SELECT id FROM mosaic.`{data}` a WHERE EXISTS (SELECT 1 FROM mosaic.`{parts}` b WHERE a.id = b.k)",
    ),
    Spelling(
        "common table expression",
        "WITH x AS (SELECT k, count(*) AS n FROM mosaic.`{data}` GROUP BY k) SELECT * FROM x WHERE n > 1",
    ),
    Spelling(
        "grouping sets",
        "SELECT k, name, count(*) AS n FROM mosaic.`{data}` GROUP BY CUBE (k, name)",
    ),
    Spelling(
        "qualify by a window",
        "SELECT * FROM (SELECT id, rank() OVER (PARTITION BY k ORDER BY id DESC) AS r FROM mosaic.`{data}`) WHERE r = 1",
    ),
    Spelling(
        "parameters of a query",
        'spark.sql(f"SELECT id FROM mosaic.`{data}` WHERE id > :low", args={"low": 4})',
    ),
    Spelling(
        "a frame in a query",
        'spark.sql("SELECT count(*) AS n FROM {frame}", frame=spark.read.format("mosaic").load(data))',
    ),
    Spelling("pipes", "FROM mosaic.`{data}` |> WHERE id > 3 |> SELECT id, k"),
    Spelling(
        "set operations in SQL",
        "SELECT id FROM mosaic.`{data}` EXCEPT SELECT k FROM mosaic.`{parts}`",
    ),
    Spelling(
        "order by and limit",
        "SELECT id FROM mosaic.`{data}` ORDER BY value DESC NULLS LAST LIMIT 2",
    ),
    Spelling(
        "monotonically_increasing_id and partition ids",
        f'{DATA}.select(f.spark_partition_id().alias("p")).distinct().count() >= 1',
    ),
    Spelling(
        "inferred join keys and filters",
        f'{DATA}.alias("a").join({PARTS}.alias("b"), "id").where("a.k = 1 AND b.name = \'d\'").select("id")',
    ),
    Spelling("dtypes and columns", f"{PARTS}.dtypes, {PARTS}.columns"),
    Spelling(
        "schema of a nested select", f'{DATA}.select(f.struct("id", "k").alias("s")).select("s.*")'
    ),
    Spelling(
        "a cached frame after an append and an overwrite",
        'frame = spark.read.format("mosaic").load(path).cache()\n'
        "found = [frame.count()]\n"
        'df.write.format("mosaic").mode("append").save(path)\n'
        "found.append(frame.count())\n"
        'df.limit(1).write.format("mosaic").mode("overwrite").save(path)\n'
        "[*found, frame.count()]",
        given='df.write.format("mosaic").save(path)',
    ),
    Spelling("sampleBy", f'{DATA}.sampleBy("k", {{0: 1.0, 1: 0.0}}, 3).count()'),
    Spelling("TABLESAMPLE", "SELECT count(*) FROM mosaic.`{data}` TABLESAMPLE (100 PERCENT)"),
    Spelling("TABLESAMPLE of rows", "SELECT count(*) FROM mosaic.`{data}` TABLESAMPLE (2 ROWS)"),
    Spelling("distinct rows of a union", f"{DATA}.union({DATA}).distinct().count()"),
    Spelling("anti join", f'{DATA}.join({PARTS}.where("k = 1"), "id", "anti").select("id")'),
    Spelling(
        "two views of one name",
        f'{DATA}.createTempView("v")\n{PARTS}.createOrReplaceTempView("v")\n'
        'spark.table("v").count(), spark.catalog.dropTempView("v")',
    ),
]
