package pymosaic.spark;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.FileFormat$;
import org.apache.spark.sql.execution.datasources.OutputWriterFactory;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.sources.StreamSinkProvider;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.sql.util.SchemaUtils$;

/**
 * What `format("mosaic")` and `USING mosaic` name: a table to read and to insert into, and writes of
 * every mode to a path. Python answers all questions and does all reading and writing; tasks need
 * nothing of this.
 *
 * It is a FileFormat only because Spark asks for one in SELECT ... FROM mosaic.`path`; the relation
 * that Spark makes there is replaced by the table when the query is optimized.
 *
 * Plain old Java and raw types: Janino compiles it on the driver.
 */
public class MosaicProvider
    implements TableProvider, DataSourceRegister, CreatableRelationProvider, StreamSinkProvider,
        FileFormat {
  public static final String NAME = "mosaic";
  private static volatile MosaicSource source;
  private MosaicSource.Inferred inferred;

  /** Makes a source the one that all sessions of this JVM ask. */
  public static void install(MosaicSource installed) { source = installed; }

  /** The source, which the active session knows from now on. */
  public static MosaicSource source() {
    MosaicSource found = source;
    found.registerOnce();
    return found;
  }

  public String shortName() { return NAME; }
  public String toString() { return NAME; }
  public boolean supportsExternalMetadata() { return true; }

  public StructType inferSchema(CaseInsensitiveStringMap options) { return infer(options).schema; }

  public Transform[] inferPartitioning(CaseInsensitiveStringMap options) {
    if (inferred == null) inferred = source().inferPartitioning(options);
    String[] keys = inferred.keys;
    Transform[] found = new Transform[keys.length];
    for (int i = 0; i < keys.length; i++) found[i] = Expressions.identity(Values.quoted(keys[i]));
    return found;
  }

  private MosaicSource.Inferred infer(CaseInsensitiveStringMap options) {
    if (inferred == null || inferred.schema == null) inferred = source().infer(options);
    return inferred;
  }

  public Table getTable(StructType schema, Transform[] partitioning, Map properties) {
    // As for Spark's own file sources, files may have nulls where a table says NOT NULL.
    if (inferred == null) {
      return new MosaicTable(schema.asNullable(), partitioning, properties, null);
    }
    boolean declared = inferred.schema == null && inferred.state != null;
    if (declared) {
      SchemaUtils$.MODULE$.checkSchemaColumnNameDuplication(schema,
          org.apache.spark.sql.classic.SparkSession.active().sessionState().conf()
              .caseSensitiveAnalysis());
    }
    StructType columns = declared ? withKeys(schema, properties).asNullable() : schema;
    return new MosaicTable(columns, partitioning, properties, null, inferred.state);
  }

  /** A schema that the user declares, with the columns that directories make at its end. */
  private StructType withKeys(StructType schema, Map properties) {
    scala.Function2 resolver = org.apache.spark.sql.classic.SparkSession.active().sessionState()
        .conf().resolver();
    StructField[] fields = schema.fields();
    StructField[] keys = new StructField[inferred.keys.length];
    StructType found = new StructType();
    for (int i = 0; i < fields.length; i++) {
      boolean isKey = false;
      for (int j = 0; j < keys.length; j++) {
        if (((Boolean) resolver.apply(fields[i].name(), inferred.keys[j])).booleanValue()) {
          keys[j] = fields[i];
          isKey = true;
        }
      }
      if (!isKey) found = found.add(fields[i]);
    }
    StructType all = null;
    for (int j = 0; j < keys.length; j++) {
      if (keys[j] == null && all == null) {
        Map options = Values.options(properties, Values.emptyMap());
        options.put("_state", inferred.state);
        options.remove("columns");
        all = source().infer(new CaseInsensitiveStringMap(options)).schema;
      }
      found = found.add(keys[j] == null ? all.apply(inferred.keys[j]) : keys[j]);
    }
    return found;
  }

  /** Python says what cannot be stored, and what to do instead. */
  public boolean supportsDataType(DataType type) { return true; }

  public BaseRelation createRelation(
      SQLContext context, SaveMode mode, scala.collection.immutable.Map parameters, Dataset data) {
    Map options = Values.options(Values.javaMap(parameters), Values.emptyMap());
    Object partitions = options.remove("__partition_columns");
    if (partitions != null && !partitions.equals("[]")) {
      options.put("partitionby", columnsOf((String) partitions, data));
    }
    if (options.remove("__clustering_columns") != null) {
      Refusal.because("clusterBy is not supported: leave it out; partitionBy(column) makes "
          + "directories, and pymosaic.spark.jobs.convert(..., cluster_by=...) sorts");
    }
    if (mode == SaveMode.Ignore && source().hasFiles(new CaseInsensitiveStringMap(options))) {
      return null;
    }
    if (mode == SaveMode.Ignore || mode == SaveMode.ErrorIfExists) options.put("_mode", "error");
    MosaicWrites.write(data, options, mode == SaveMode.Overwrite);
    return null;
  }

  /** Columns that partitionBy names, without the backticks that Spark wants around some names. */
  private static String columnsOf(String partitions, Dataset data) {
    try {
      List names = (List) Values.JSON.readValue(partitions, List.class);
      List known = java.util.Arrays.asList(data.columns());
      for (int i = 0; i < names.size(); i++) {
        String name = (String) names.get(i);
        if (known.contains(name) || !name.matches("(?s)`.+`")) continue;
        names.set(i, name.substring(1, name.length() - 1).replace("``", "`"));
      }
      return Values.json(names);
    } catch (java.io.IOException e) {
      return partitions;  // Python says what is wrong with it
    }
  }

  public Sink createSink(SQLContext context, scala.collection.immutable.Map parameters,
      scala.collection.immutable.Seq partitionColumns, OutputMode mode) {
    Map options = Values.options(Values.javaMap(parameters), Values.emptyMap());
    if (!partitionColumns.isEmpty()) {
      options.put("partitionby", Values.json(Values.javaList(partitionColumns)));
    }
    return new MosaicSink.ToPath(options, mode);
  }

  /** The columns of the datasets that files are in, without those of their directories. */
  public scala.Option inferSchema(SparkSession session, scala.collection.immutable.Map options,
      scala.collection.immutable.Seq files) {
    Set places = new LinkedHashSet();
    scala.collection.Iterator each = files.iterator();
    while (each.hasNext()) places.add(place(((FileStatus) each.next()).getPath()));
    if (places.isEmpty()) return scala.Option.empty();
    Map given = Values.options(Values.javaMap(options), Values.emptyMap());
    // What Spark's parser says of a relation that is written: DELETE FROM mosaic.`path`.
    if (given.remove("__required_write_privileges__") != null) {
      Refusal.because("mosaic.`path` can only be read: make a table of the path, with CREATE TABLE name "
          + "USING mosaic LOCATION 'path', or use pymosaic.spark.write");
    }
    given.put("paths", Values.json(places));
    given.put("partitioning", "none");
    return scala.Option.apply(source().infer(new CaseInsensitiveStringMap(given)).schema);
  }

  private static String place(Path file) {
    Path found = file.getParent();
    while (found.getParent() != null && found.getName().contains("=")) found = found.getParent();
    return found.toString();
  }

  /** The fields of _metadata in SELECT ... FROM mosaic.`path`: those that tables have. */
  public scala.collection.immutable.Seq metadataSchemaFields() {
    List fields = Values.javaList(FileFormat$.MODULE$.BASE_METADATA_FIELDS());
    fields.add(new StructField("row_index", DataTypes.LongType, false, Metadata.empty()));
    return Values.scalaList(fields);
  }

  public OutputWriterFactory prepareWrite(SparkSession session, Job job,
      scala.collection.immutable.Map options, StructType schema) {
    Refusal.because("INSERT INTO mosaic.`path` is not supported: use "
        + "df.write.format(\"mosaic\").mode(\"append\").save(path), or a table of the catalog");
    return null;
  }
}
