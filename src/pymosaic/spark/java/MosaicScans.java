package pymosaic.spark;

import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.GeneralScalarExpression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.NoopCache$;
import org.apache.spark.sql.execution.datasources.PartitionSpec$;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Strategy$;
import org.apache.spark.sql.execution.datasources.v2.FileScanBuilder;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.connector.SupportsMetadata;
import org.apache.spark.sql.internal.connector.SupportsPushDownCatalystFilters;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Scans of a table: Spark's own scan of a Python source, with what such sources lack: column pruning,
 * filters, also those that are known when the query runs, limits, statistics and metrics.
 *
 * What Spark pushes down travels in options, to a source of its own for each scan. Spark checks every
 * filter and limit again.
 *
 * Plain old Java and raw types: Janino compiles it on the driver.
 */
public class MosaicScans {
  private static final String SWITCH = "spark.mosaic.pushDown";
  private static final int SHOWN = 20;

  /** Whether the session wants push-down. */
  static boolean isOn(SQLConf conf) {
    return "true".equalsIgnoreCase(conf.getConfString(SWITCH, "true"));
  }

  public static class Builder
      implements SupportsPushDownRequiredColumns, SupportsPushDownCatalystFilters,
          SupportsPushDownLimit {
    final MosaicTable table;
    final Map options;
    StructType required;
    List predicates = new ArrayList();
    int limit = -1;

    Builder(MosaicTable table, Map options) {
      this.table = table;
      this.options = options;
      this.required = table.schema();
    }

    public void pruneColumns(StructType schema) {
      if (isOn(SparkSession.active().sessionState().conf())) required = schema;
      else required = withHidden(schema);
    }

    /** All columns of the table, and what a query wants besides them. */
    private StructType withHidden(StructType schema) {
      StructType all = table.schema();
      Set names = new HashSet(java.util.Arrays.asList(all.fieldNames()));
      for (int i = 0; i < schema.length(); i++) {
        if (!names.contains(schema.fields()[i].name())) all = all.add(schema.fields()[i]);
      }
      return all;
    }

    /** Filters only skip data: Spark checks all of them again. */
    public scala.collection.immutable.Seq pushFilters(scala.collection.immutable.Seq offered) {
      predicates = new ArrayList();
      scala.collection.Iterator each = offered.iterator();
      while (each.hasNext()) {
        Object predicate = translated(each.next());
        if (predicate != null) predicates.add(predicate);
      }
      return offered;
    }
    public Predicate[] pushedFilters() { return new Predicate[0]; }

    /** A condition in Spark's public form; null where Spark's own translation fails, or has none. */
    private static Object translated(Object condition) {
      try {
        scala.Option found = DataSourceV2Strategy$.MODULE$.translateFilterV2(
            (org.apache.spark.sql.catalyst.expressions.Expression) condition);
        return found.isDefined() ? found.get() : null;
      } catch (Exception e) {
        return null;
      } catch (AssertionError e) {
        return null;
      }
    }

    public boolean pushLimit(int rows) {
      limit = rows;
      return true;
    }
    public boolean isPartiallyPushed() { return true; }

    /** Results of aggregate functions over all rows, if metadata tells them. */
    String[] aggregate(StructType schema, List functions) {
      return MosaicProvider.source().aggregate(
          new CaseInsensitiveStringMap(scanOptions()), schema, functions);
    }

    public Scan build() { return new MosaicScan(table, inTableOrder(required), scanOptions()); }

    private Map scanOptions() {
      SparkSession session = SparkSession.active();
      SQLConf conf = session.sessionState().conf();
      Map pushed = new TreeMap();
      pushed.put("parallelism", Integer.valueOf(session.leafNodeDefaultParallelism()));
      pushed.put("caseSensitive", Boolean.valueOf(conf.caseSensitiveAnalysis()));
      if (!conf.caseSensitiveAnalysis()) pushed.put("alike", alike());
      if (limit >= 0 && isOn(conf)) pushed.put("limit", Integer.valueOf(limit));
      List filters = new ArrayList();
      for (int i = 0; i < predicates.size() && isOn(conf); i++) {
        filters.add(encoded((Expression) predicates.get(i)));
      }
      pushed.put("filters", filters);
      Map all = new TreeMap(options);
      all.put("_state", table.state(options));
      all.put("_pushed", Values.json(pushed));
      return all;
    }

    /** Columns of the table whose names differ only in case. */
    private List alike() {
      StructField[] fields = table.schema().fields();
      Map first = new HashMap();
      Set found = new java.util.LinkedHashSet();
      for (int i = 0; i < fields.length; i++) {
        String name = fields[i].name();
        Object other = first.put(name.toLowerCase(java.util.Locale.ROOT), name);
        if (other != null) {
          found.add(other);
          found.add(name);
        }
      }
      return new ArrayList(found);
    }

    /** Whole top-level columns, in the table's order. */
    private StructType inTableOrder(StructType schema) {
      Set names = new HashSet(java.util.Arrays.asList(schema.fieldNames()));
      StructField[] fields = table.schema().fields();
      List kept = new ArrayList(names.size());
      for (int i = 0; i < fields.length; i++) if (names.remove(fields[i].name())) kept.add(fields[i]);
      for (int i = 0; i < schema.length(); i++) {
        // The hidden column, which the table itself does not have.
        if (names.contains(schema.fields()[i].name())) kept.add(schema.fields()[i]);
      }
      return kept.isEmpty() ? smallest() : new StructType((StructField[]) kept.toArray(new StructField[0]));
    }

    /** A source without columns loses its row count in Spark 4.0: the column of smallest type. */
    private StructType smallest() {
      StructField[] fields = table.schema().fields();
      StructField least = null;
      for (int i = 0; i < fields.length; i++) {
        if (least == null || fields[i].dataType().defaultSize() < least.dataType().defaultSize()) {
          least = fields[i];
        }
      }
      return least == null ? new StructType() : new StructType(new StructField[] {least});
    }
  }

  /** What Spark asks for a scan. */
  static ScanBuilder builder(MosaicTable table, Map options) {
    Builder builder = new Builder(table, options);
    if (!SparkSession.active().version().startsWith("4.0.")) return builder;
    return new FileBuilder(builder);
  }

  /** Spark 4.0 offers filters to the builders of its own file sources only. */
  public static class FileBuilder extends FileScanBuilder implements SupportsPushDownLimit {
    final Builder builder;

    FileBuilder(Builder builder) {
      super(SparkSession.active(), noFiles(), builder.table.schema());
      this.builder = builder;
    }

    /** Of Spark's builder, only the type is used. */
    private static InMemoryFileIndex noFiles() {
      return new InMemoryFileIndex(SparkSession.active(), Values.scalaList(new ArrayList()),
          scala.collection.immutable.Map$.MODULE$.empty(), scala.Option.empty(), NoopCache$.MODULE$,
          scala.Option.apply(PartitionSpec$.MODULE$.emptySpec()), scala.Option.empty());
    }

    public void pruneColumns(StructType schema) { builder.pruneColumns(schema); }
    public scala.collection.immutable.Seq pushFilters(scala.collection.immutable.Seq offered) {
      return builder.pushFilters(offered);
    }
    public Predicate[] pushedFilters() { return builder.pushedFilters(); }
    public boolean pushLimit(int rows) { return builder.pushLimit(rows); }
    public boolean isPartiallyPushed() { return builder.isPartiallyPushed(); }
    public Scan build() { return builder.build(); }
  }

  /** A filter as plain lists and maps; literals as text, beside their type. */
  static Object encoded(Expression expression) {
    Map found = new HashMap();
    if (expression instanceof NamedReference) {
      String[] names = ((NamedReference) expression).fieldNames();
      if (names.length == 1) found.put("column", names[0]);
    } else if (expression instanceof Literal) {
      Literal literal = (Literal) expression;
      found.put("type", literal.dataType().typeName());
      Object value = literal.value();
      if (value instanceof byte[]) value = Base64.getEncoder().encodeToString((byte[]) value);
      if (value instanceof Decimal) value = ((Decimal) value).toJavaBigDecimal().toPlainString();
      found.put("value", value == null ? null : value.toString());
    } else if (expression instanceof GeneralScalarExpression) {
      found.put("name", ((GeneralScalarExpression) expression).name());
      List children = new ArrayList();
      Expression[] all = ((GeneralScalarExpression) expression).children();
      for (int i = 0; i < all.length; i++) children.add(encoded(all[i]));
      found.put("children", children);
    }
    return found;
  }

  /** Spark's own scan of a Python source, with more abilities. Scans that read the same are equal. */
  public static class MosaicScan
      implements SupportsReportStatistics, SupportsRuntimeV2Filtering, SupportsMetadata {
    final MosaicTable table;
    final StructType schema;
    final Map options;
    private final String identity;
    private final List runtimeFilters = new ArrayList();
    private String id = UUID.randomUUID().toString();
    private Scan scan;
    private Map report;

    MosaicScan(MosaicTable table, StructType schema, Map options) {
      this.table = table;
      this.schema = schema;
      this.options = options;
      this.identity = Values.json(options);
    }

    public StructType readSchema() { return schema; }
    public MicroBatchStream toMicroBatchStream(String checkpoint) {
      return new MosaicStream(this, checkpoint, null);
    }
    public Batch toBatch() { return new MosaicBatch(this, scan().toBatch()); }
    public Scan.ColumnarSupportMode columnarSupportMode() { return scan().columnarSupportMode(); }

    /** The options by which Python reads the same, as JSON. */
    public String asked() { return Values.json(MosaicSource.question("plan", scanOptions()).get("options")); }

    /** What was pushed down, as JSON. */
    public String pushed() { return (String) options.get("_pushed"); }

    private CaseInsensitiveStringMap scanOptions() {
      Map all = new HashMap(options);
      Map more = new HashMap();
      more.put("scan", id);
      more.put("filters", runtimeFilters);
      all.put("_scan", Values.json(more));
      return new CaseInsensitiveStringMap(all);
    }

    private synchronized Scan scan() {
      if (scan == null) {
        MosaicProvider.source();
        PythonDataSourceV2 provider = new PythonDataSourceV2();
        provider.setShortName(MosaicSource.NAME);
        CaseInsensitiveStringMap given = scanOptions();
        SupportsRead fresh = (SupportsRead)
            provider.getTable(schema, new Transform[0], given.asCaseSensitiveMap());
        scan = fresh.newScanBuilder(given).build();
      }
      return scan;
    }

    private synchronized Map report() {
      if (report == null) report = MosaicProvider.source().report(scanOptions(), schema);
      return report;
    }

    public Statistics estimateStatistics() {
      return new RowStatistics(((Number) report().get("rows")).longValue(), schema.defaultSize() + 8L);
    }

    /** Partition columns: what a join has found of them leaves whole files out. */
    public NamedReference[] filterAttributes() {
      Set names = new HashSet(java.util.Arrays.asList(schema.fieldNames()));
      String[] keys = (String[]) ((List) report().get("keys")).toArray(new String[0]);
      List found = new ArrayList();
      for (int i = 0; i < keys.length; i++) {
        if (names.contains(keys[i])) found.add(Expressions.column(Values.quoted(keys[i])));
      }
      return (NamedReference[]) found.toArray(new NamedReference[0]);
    }

    public synchronized void filter(Predicate[] predicates) {
      for (int i = 0; i < predicates.length; i++) runtimeFilters.add(encoded(predicates[i]));
      id = UUID.randomUUID().toString();
      scan = null;
      report = null;
    }

    public CustomMetric[] supportedCustomMetrics() {
      CustomMetric[] first = scan().supportedCustomMetrics();
      CustomMetric[] second = MosaicMetrics.all();
      CustomMetric[] found = new CustomMetric[first.length + second.length];
      System.arraycopy(first, 0, found, 0, first.length);
      System.arraycopy(second, 0, found, first.length, second.length);
      return found;
    }

    public CustomTaskMetric[] reportDriverMetrics() { return MosaicMetrics.of(report()); }

    public String description() {
      String[] names = schema.fieldNames();
      StringBuilder text = new StringBuilder("mosaic ").append(table.name()).append(" columns: [");
      for (int i = 0; i < names.length && i < SHOWN; i++) {
        text.append(i == 0 ? "" : ", ").append(names[i]);
      }
      if (names.length > SHOWN) text.append(", ... ").append(names.length - SHOWN).append(" more");
      text.append("]");
      try {
        Map told = report();
        text.append(", filters: [").append(told.get("filters")).append("]");
        if (!((List) told.get("keys")).isEmpty()) {
          text.append(", partitions: ").append(share(told, "partitions"));
        }
        text.append(", files: ").append(share(told, "files"));
        text.append(", row groups: ").append(share(told, "rowGroups"));
        text.append(", bytes: ").append(share(told, "bytes"));
        if (told.get("limit") != null) text.append(", limit: ").append(told.get("limit"));
      } catch (Exception e) {
        // What is wrong is told when the scan runs.
      }
      return text.toString();
    }

    /** What explain("formatted") tells. */
    public scala.collection.immutable.Map getMetaData() {
      Map told = new TreeMap();
      told.put("Format", MosaicProvider.NAME);
      told.put("ReadSchema", schema.catalogString());
      try {
        Map found = report();
        told.put("PushedFilters", "[" + found.get("filters") + "]");
        told.put("Files", share(found, "files"));
        told.put("RowGroups", share(found, "rowGroups"));
        told.put("Bytes", share(found, "bytes"));
      } catch (Exception e) {
        // What is wrong is told when the scan runs.
      }
      scala.collection.immutable.Map all = scala.collection.immutable.Map$.MODULE$.empty();
      java.util.Iterator each = told.entrySet().iterator();
      while (each.hasNext()) {
        Map.Entry entry = (Map.Entry) each.next();
        all = (scala.collection.immutable.Map) all.updated(entry.getKey(), entry.getValue());
      }
      return all;
    }

    private static String share(Map report, String key) {
      return MosaicMetrics.part(report, key, 0) + " of " + MosaicMetrics.part(report, key, 1);
    }

    public boolean equals(Object other) {
      return other instanceof MosaicScan && identity.equals(((MosaicScan) other).identity)
          && schema.equals(((MosaicScan) other).schema)
          && runtimeFilters.equals(((MosaicScan) other).runtimeFilters);
    }
    public int hashCode() { return identity.hashCode(); }
  }

  /** Spark compares the batches of scans to find out whether one can be used for two. */
  public static class MosaicBatch implements Batch {
    final MosaicScan scan;
    final Batch batch;

    MosaicBatch(MosaicScan scan, Batch batch) {
      this.scan = scan;
      this.batch = batch;
    }

    public InputPartition[] planInputPartitions() { return batch.planInputPartitions(); }
    public PartitionReaderFactory createReaderFactory() { return batch.createReaderFactory(); }
    public boolean equals(Object other) {
      return other instanceof MosaicBatch && scan.equals(((MosaicBatch) other).scan);
    }
    public int hashCode() { return scan.hashCode(); }
  }

  public static class RowStatistics implements Statistics {
    final long rows;
    final long rowBytes;

    RowStatistics(long rows, long rowBytes) {
      this.rows = rows;
      this.rowBytes = rowBytes;
    }

    public OptionalLong numRows() { return rows < 0 ? OptionalLong.empty() : OptionalLong.of(rows); }
    public OptionalLong sizeInBytes() {
      return rows < 0 ? OptionalLong.empty() : OptionalLong.of(Math.max(1, rows * rowBytes));
    }
  }
}
