"""Writing: ``df.write`` to paths."""

from tests.spark.surface.spellings import Spelling

KIND = "Write a path"
READ = 'spark.read.format("mosaic").load(path)'
SAVED = 'df.write.format("mosaic").save(path)'
SAVED_BY_K = 'df.write.format("mosaic").partitionBy("k").save(path)'
DIRECTORIES = "sorted({os.path.dirname(name) for name in files(path)})"
PARTITIONED = 'df.write.format("mosaic").partitionBy("k").save(path)'

ROWS = [
    Spelling("save where nothing is", 'df.write.format("mosaic").save(path)', READ),
    Spelling(
        "mode errorifexists where nothing is",
        'df.write.format("mosaic").mode("errorifexists").save(path)',
        READ,
    ),
    Spelling(
        "mode ignore where nothing is",
        'df.write.format("mosaic").mode("ignore").save(path)',
        READ,
    ),
    Spelling(
        "mode ignore where something is",
        'df.where("id < 3").write.format("mosaic").mode("ignore").save(path)',
        READ,
        SAVED,
    ),
    Spelling(
        "mode append where nothing is", 'df.write.format("mosaic").mode("append").save(path)', READ
    ),
    Spelling(
        "mode append where something is",
        'df.where("id < 3").write.format("mosaic").mode("append").save(path)',
        READ,
        SAVED,
    ),
    Spelling(
        "mode overwrite where nothing is",
        'df.write.format("mosaic").mode("overwrite").save(path)',
        READ,
    ),
    Spelling(
        "mode overwrite where something is",
        'df.where("id < 3").write.format("mosaic").mode("overwrite").save(path)',
        READ,
        SAVED,
    ),
    Spelling(
        "mode in capitals",
        'df.where("id < 3").write.format("mosaic").mode("OVERWRITE").save(path)',
        READ,
        SAVED,
    ),
    Spelling(
        "a mode that does not exist",
        'df.write.format("mosaic").mode("replace").save(path)',
        "os.path.exists(path)",
        error="replace",
    ),
    Spelling(
        "overwrite with other columns",
        'df.selectExpr("id AS other").write.format("mosaic").mode("overwrite").save(path)',
        READ,
        SAVED,
    ),
    Spelling(
        "everything as arguments of save",
        'df.write.save(path, format="mosaic", mode="overwrite", partitionBy="k")',
        READ,
        SAVED,
    ),
    Spelling(
        "arguments of save, with a list and options",
        'df.write.save(path, "mosaic", "append", ["k"], compression="none")',
        READ,
    ),
    Spelling(
        "the option path",
        'df.write.format("mosaic").option("path", path).save()',
        READ,
    ),
    Spelling(
        "no path",
        'df.write.format("mosaic").save()',
        error="path",
    ),
    Spelling(
        "the name of the format in capitals",
        'df.write.format("MOSAIC").save(path)',
        READ,
        parquet='df.write.format("PARQUET").save(path)',
    ),
    Spelling(
        "the format as the default of the session",
        'spark.conf.set("spark.sql.sources.default", "mosaic")\ndf.write.save(path)\nspark.read.load(path)',
    ),
    Spelling(
        "a path as a URI",
        'df.write.format("mosaic").save("file://" + path)',
        READ,
    ),
    Spelling(
        "a path with one slash after file:",
        'df.write.format("mosaic").save("file:" + path)',
        READ,
    ),
    Spelling(
        "a path with a slash at its end",
        'df.write.format("mosaic").save(path + "/")',
        READ,
    ),
    Spelling(
        "a path with spaces and signs",
        'df.write.format("mosaic").save(path + "/a b/100% c+d,e")',
        'spark.read.format("mosaic").load(path + "/a b/100% c+d,e")',
    ),
    Spelling(
        "a file is where the directory should be",
        'df.write.format("mosaic").mode("append").save(path)',
        "os.path.isfile(path)",
        'open(path, "w").close()',
        error="rows",
    ),
    Spelling("partitionBy", 'df.write.format("mosaic").partitionBy("k").save(path)', READ),
    Spelling(
        "partitionBy makes directories",
        'df.write.format("mosaic").partitionBy("k").save(path)',
        DIRECTORIES,
    ),
    Spelling(
        "partitionBy several columns",
        'df.write.format("mosaic").partitionBy("k", "day").save(path)',
        READ,
    ),
    Spelling(
        "partitionBy a list",
        'df.write.format("mosaic").partitionBy(["day", "k"]).save(path)',
        DIRECTORIES,
    ),
    Spelling(
        "directories of odd strings",
        'df.selectExpr("id", "concat(\'a/b=%: \', name) AS s").write.format("mosaic").partitionBy("s").save(path)',
        DIRECTORIES,
    ),
    Spelling(
        "partitionBy a column that is not there",
        'df.write.format("mosaic").partitionBy("nothing").save(path)',
        "os.path.exists(path)",
        error="nothing",
    ),
    Spelling(
        "overwrite with partitionBy replaces all partitions",
        'df.where("k = 1").write.format("mosaic").mode("overwrite").partitionBy("k").save(path)',
        READ,
        SAVED_BY_K,
    ),
    Spelling(
        "dynamic overwrite by option",
        'df.where("k = 1").limit(1).write.format("mosaic").mode("overwrite").partitionBy("k").option("partitionOverwriteMode", "dynamic").save(path)',
        READ,
        SAVED_BY_K,
    ),
    Spelling(
        "dynamic overwrite by setting",
        'spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")\n'
        'df.where("k = 1").limit(1).write.format("mosaic").mode("overwrite").partitionBy("k").save(path)',
        READ,
        SAVED_BY_K,
    ),
    Spelling(
        "dynamic overwrite, the setting in capitals",
        'spark.conf.set("spark.sql.sources.partitionOverwriteMode", "DYNAMIC")\n'
        'df.where("k = 1").limit(1).write.format("mosaic").mode("overwrite").partitionBy("k").save(path)',
        READ,
        SAVED_BY_K,
    ),
    Spelling(
        "dynamic overwrite with no rows",
        'spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")\n'
        'df.limit(0).write.format("mosaic").mode("overwrite").partitionBy("k").save(path)',
        READ,
        SAVED_BY_K,
    ),
    Spelling(
        "dynamic overwrite of a new partition",
        'spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")\n'
        'df.selectExpr("id", "9 AS k", "name", "value", "day").write.format("mosaic").mode("overwrite").partitionBy("k").save(path)',
        READ,
        SAVED_BY_K,
    ),
    Spelling(
        "dynamic overwrite of one of two keys",
        'spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")\n'
        'df.where("k = 1").limit(1).write.format("mosaic").mode("overwrite").partitionBy("k", "day").save(path)',
        READ,
        'df.write.format("mosaic").partitionBy("k", "day").save(path)',
    ),
    Spelling(
        "dynamic overwrite without partitions replaces all",
        'spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")\n'
        'df.where("id = 1").write.format("mosaic").mode("overwrite").save(path)',
        READ,
        SAVED,
    ),
    Spelling(
        "the option static above the setting dynamic",
        'spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")\n'
        'df.where("k = 1").write.format("mosaic").mode("overwrite").partitionBy("k").option("partitionOverwriteMode", "static").save(path)',
        READ,
        SAVED_BY_K,
    ),
    Spelling(
        "sortWithinPartitions",
        'df.coalesce(1).sortWithinPartitions("name").write.format("mosaic").save(path)',
        '[row.id for row in spark.read.format("mosaic").load(path).collect()]',
    ),
    Spelling(
        "repartition by the partition column",
        'df.repartition("k").write.format("mosaic").partitionBy("k").save(path)',
        READ,
    ),
    Spelling(
        "coalesce(1) makes one file",
        'df.coalesce(1).write.format("mosaic").save(path)',
        "len(files(path))",
    ),
    Spelling(
        "repartition(3) makes three files",
        'df.repartition(3).write.format("mosaic").save(path)',
        "len(files(path))",
    ),
    Spelling(
        "partitions, each through its own directory",
        'df.drop("k").where("id < 3").write.format("mosaic").save(path + "/k=0")\n'
        'df.drop("k").where("id > 3").write.format("mosaic").save(path + "/k=1")',
        READ,
    ),
    Spelling(
        "overwrite of a partition's own directory",
        'df.drop("k").limit(1).write.format("mosaic").mode("overwrite").save(path + "/k=1")',
        READ,
        PARTITIONED,
    ),
    Spelling(
        "overwrite of a partition's own directory by nothing",
        'df.drop("k").limit(0).write.format("mosaic").mode("overwrite").save(path + "/k=1")',
        READ,
        PARTITIONED,
    ),
    Spelling(
        "append to a partition's own directory",
        'df.drop("k").limit(1).write.format("mosaic").mode("append").save(path + "/k=9")',
        READ,
        PARTITIONED,
    ),
    Spelling(
        "a partition's own directory that has files",
        'df.drop("k").limit(1).write.format("mosaic").save(path + "/k=1")',
        READ,
        PARTITIONED,
        error="already",
    ),
    Spelling(
        "partitions inside a partition's own directory",
        'df.write.format("mosaic").partitionBy("k").save(path + "/y=2024/m=01")',
        READ,
    ),
    Spelling(
        "the option replaceWhere",
        'df.where("k = 1").write.format("mosaic").mode("overwrite").option("replaceWhere", "k = 1").save(path)',
        f"{READ}.count() == 6",
        SAVED_BY_K,
        refused="use df.writeTo(table).overwrite(condition)",
        note="Parquet ignores it, and replaces everything.",
    ),
    Spelling(
        "append with names in another case",
        'df.selectExpr("id AS ID", "k AS K", "name AS NAME", "value", "day").write.format("mosaic").mode("append").save(path)',
        f'{READ}.select("id", "k", "name")',
        SAVED,
    ),
    Spelling(
        "columns that differ in case",
        'df.selectExpr("id", "k AS ID").write.format("mosaic").save(path)',
        "os.path.exists(path)",
        error="differ only in case",
    ),
    Spelling(
        "columns that differ in case, case sensitive",
        'spark.conf.set("spark.sql.caseSensitive", True)\ndf.selectExpr("id", "k AS ID").write.format("mosaic").save(path)',
        READ,
    ),
    Spelling(
        "partitionBy, names with spaces or letters beyond ASCII",
        'df.selectExpr("id", "k AS `a b`", "day AS `ü`").write.format("mosaic").partitionBy("`a b`", "`ü`").save(path)',
        'spark.read.format("mosaic").load(path), files(path)[0].split("/")[:-1]',
        parquet='df.selectExpr("id", "k AS `a b`", "day AS `ü`").write.format("parquet").partitionBy("a b", "ü").save(path)',
        note="Spark parses these names; without backticks, it says PARSE_SYNTAX_ERROR or INVALID_IDENTIFIER.",
    ),
    Spelling(
        "partitionBy, names with dots and backticks",
        'df.selectExpr("id", "k AS `a.b`", "day AS `x``y`").write.format("mosaic").partitionBy("a.b", "`x``y`").mode("append").save(path)',
        'spark.read.format("mosaic").load(path)',
        parquet='df.selectExpr("id", "k AS `a.b`", "day AS `x``y`").write.format("parquet").partitionBy("a.b", "x`y").mode("append").save(path)',
    ),
    Spelling(
        "partitionBy in another case, case sensitive",
        'spark.conf.set("spark.sql.caseSensitive", True)\ndf.write.format("mosaic").partitionBy("K").save(path)',
        "os.path.exists(path)",
        error="'K'",
    ),
    Spelling(
        "dynamic overwrite of the null partition",
        'spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")\n'
        'df.limit(1).withColumn("k", f.expr("CAST(NULL AS INT)")).write.format("mosaic").mode("overwrite").partitionBy("k").save(path)',
        READ,
        'df.withColumn("k", f.expr("nullif(k, 0)")).write.format("mosaic").partitionBy("k").save(path)',
    ),
    Spelling(
        "options of other formats",
        'df.write.format("mosaic").option("parquet.block.size", 1048576).option("header", True).save(path)',
        READ,
        note="Ignored with a warning.",
    ),
    Spelling(
        "clusterBy",
        'df.write.format("mosaic").clusterBy("k").save(path)',
        "not os.path.exists(path)",
        refused="clusterBy is not supported",
    ),
    Spelling(
        "a hidden directory that looks like a partition",
        'df.write.format("mosaic").save(path + "/.k=1")',
        "files(path) == []",
        refused="looks like a partition",
    ),
    Spelling(
        "dynamic overwrite without partitionBy where partitions are",
        'spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")\n'
        'df.where("id = 1").write.format("mosaic").mode("overwrite").save(path)',
        f"{READ}.count() == 5",
        SAVED_BY_K,
        better="Replaces the partition; Parquet replaces everything.",
    ),
    Spelling(
        "dynamic overwrite with partitionBy where no partitions are",
        'spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")\n'
        'df.where("id = 1").write.format("mosaic").mode("overwrite").partitionBy("k").save(path)',
        f"{READ}.count() == 6",
        SAVED,
        refused="the dataset is not partitioned",
        note="Parquet leaves two layouts side by side.",
    ),
    Spelling(
        "append by other partitions",
        'df.write.format("mosaic").mode("append").partitionBy("day").save(path)',
        "len(files(path)) == 3",
        SAVED_BY_K,
        refused="the dataset is partitioned by k",
        note="Parquet writes files that nobody can read beside the others.",
    ),
    Spelling(
        "append without the partition column",
        'df.drop("k").write.format("mosaic").mode("append").save(path)',
        f"{READ}.count() == 6",
        SAVED_BY_K,
        refused="partitioned by",
    ),
    Spelling(
        "append of another type",
        'df.selectExpr("cast(id AS string) id", "k").write.format("mosaic").mode("append").save(path)',
        f"{READ}.count() == 6",
        SAVED,
        refused="no type holds both",
        note="Parquet writes files that nobody can read beside the others.",
    ),
]
