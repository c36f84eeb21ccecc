package pymosaic.spark;

import java.net.URI;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.function.ToLongBiFunction;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.GeneralScalarExpression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.aggregate.CountStar;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Optimizer rule that gives scans of the "mosaic" source what Spark's Python sources lack: column
 * pruning, filters, limits, statistics, and count(*) from metadata.
 *
 * It runs before Spark's push-down and only swaps the table of a relation for one with a richer
 * scan builder; Spark's own rules then decide what to push. What was pushed travels in options, to
 * a source of its own for each scan. Spark checks every filter and limit again.
 *
 * Plain old Java and raw types: Janino compiles it on the driver.
 */
public class MosaicScans extends Rule {
  static final String NAME = "mosaic";
  static final String SWITCH = "spark.mosaic.pushDown";

  /** Adds the rule to a session's extensions, also to those of a running session. */
  public static class Extension extends scala.runtime.AbstractFunction1 {
    public Object apply(Object extensions) {
      ((SparkSessionExtensions) extensions).injectOptimizerRule(new Builder());
      return scala.runtime.BoxedUnit.UNIT;
    }
  }

  public static class Builder extends scala.runtime.AbstractFunction1 {
    public Object apply(Object session) { return new MosaicScans(); }
  }

  public TreeNode apply(TreeNode plan) {
    if (!"true".equalsIgnoreCase(conf().getConfString(SWITCH, "true"))) return plan;
    return plan.transformDown(new Swap());
  }

  public static class Swap extends scala.runtime.AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return target(node) != null || target(written(node)) != null;
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (target(written(node)) != null) return located((TreeNode) node, target(written(node)));
      DataSourceV2Relation relation = target(node);
      if (relation == null) return otherwise.apply(node);
      PythonTable table = (PythonTable) relation.table();
      if (!usable(table, relation.options())) return relation;
      Object[] fields = fieldsOf(relation);
      fields[0] = new MosaicTable(table, storage(relation));
      return relation.makeCopy(fields);
    }

    /** The node if it is a relation of this source that has not been swapped. */
    static DataSourceV2Relation target(Object node) {
      if (!(node instanceof DataSourceV2Relation)) return null;
      Table table = ((DataSourceV2Relation) node).table();
      return table instanceof PythonTable && NAME.equalsIgnoreCase(table.name())
          ? (DataSourceV2Relation) node : null;
    }

    /** What a node writes into; null if it does not write. */
    static Object written(Object node) {
      return node instanceof AppendData || node instanceof OverwriteByExpression
          ? ((TreeNode) node).productElement(0) : null;
    }

    /** A write into a catalog table, with the table's own options among those of the write. */
    static TreeNode located(TreeNode write, DataSourceV2Relation relation) {
      Object[] fields = fieldsOf(write);
      int place = write instanceof AppendData ? 2 : 3;
      scala.collection.immutable.Map options = (scala.collection.immutable.Map) fields[place];
      Map merged = new HashMap(storage(relation));
      if (merged.isEmpty() || options.contains("path")) return write;
      java.util.Iterator entries = merged.entrySet().iterator();
      while (entries.hasNext()) {
        Map.Entry entry = (Map.Entry) entries.next();
        if (!options.contains(entry.getKey())) {
          options = (scala.collection.immutable.Map) options.updated(entry.getKey(), entry.getValue());
        }
      }
      fields[place] = options;
      return write.makeCopy(fields);
    }

    static Object[] fieldsOf(TreeNode node) {
      Object[] fields = new Object[node.productArity()];
      for (int i = 0; i < fields.length; i++) fields[i] = node.productElement(i);
      return fields;
    }

    /** Options and place that the session catalog keeps of a table; Spark drops them at reads. */
    static Map storage(DataSourceV2Relation relation) {
      Map found = new HashMap();
      if (relation.identifier().isEmpty()) return found;
      Identifier identifier = (Identifier) relation.identifier().get();
      if (identifier.namespace().length != 1) return found;
      CatalogStorageFormat storage;
      try {
        storage = SparkSession.active().sessionState().catalog().getTableMetadata(
            new TableIdentifier(identifier.name(), scala.Option.apply(identifier.namespace()[0])))
            .storage();
      } catch (Exception e) {
        return found;
      }
      scala.collection.Iterator entries = storage.properties().iterator();
      while (entries.hasNext()) {
        scala.Tuple2 entry = (scala.Tuple2) entries.next();
        found.put(((String) entry._1()).toLowerCase(java.util.Locale.ROOT), entry._2());
      }
      found.remove("serialization.format");
      found.put("_table", "true");
      if (!found.containsKey("path") && storage.locationUri().isDefined()) {
        found.put("path", new Path((URI) storage.locationUri().get()).toString());
      }
      return found;
    }

    /** Not usable: unknown to the active session, two columns of one name, or pruned by Spark. */
    static boolean usable(PythonTable table, CaseInsensitiveStringMap options) {
      try {
        PythonDataSourceV2 provider = new PythonDataSourceV2();
        provider.setShortName(table.name());
        provider.source();
      } catch (Exception e) {
        return false;
      }
      Set seen = new HashSet();
      StructField[] fields = table.schema().fields();
      for (int i = 0; i < fields.length; i++) if (!seen.add(fields[i].name())) return false;
      return !(table.newScanBuilder(options) instanceof SupportsPushDownRequiredColumns);
    }
  }

  public static class MosaicTable implements Table, SupportsRead {
    final PythonTable table;
    final Map storage;

    MosaicTable(PythonTable table, Map storage) {
      this.table = table;
      this.storage = storage;
    }

    public String name() { return table.name(); }
    public StructType schema() { return table.schema(); }
    public Column[] columns() { return table.columns(); }
    public Transform[] partitioning() { return table.partitioning(); }
    public Map properties() { return table.properties(); }
    public Set capabilities() { return table.capabilities(); }

    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      Map merged = new HashMap(storage);
      merged.putAll(options.asCaseSensitiveMap());
      return new MosaicScanBuilder(table, merged);
    }

    public boolean equals(Object other) {
      return other instanceof MosaicTable && ((MosaicTable) other).table.equals(table);
    }
    public int hashCode() { return table.hashCode(); }
  }

  public static class MosaicScanBuilder
      implements SupportsPushDownRequiredColumns, SupportsPushDownV2Filters, SupportsPushDownLimit,
          SupportsPushDownAggregates {
    final PythonTable table;
    final Map options;
    StructType required;
    Predicate[] predicates = new Predicate[0];
    int limit = -1;
    long count = -1;

    MosaicScanBuilder(PythonTable table, Map options) {
      this.table = table;
      this.options = options;
      this.required = table.schema();
    }

    public void pruneColumns(StructType schema) { required = schema; }

    /** Filters only skip data: Spark checks all of them again. */
    public Predicate[] pushPredicates(Predicate[] offered) {
      predicates = offered;
      return offered;
    }
    public Predicate[] pushedPredicates() { return new Predicate[0]; }

    public boolean pushLimit(int rows) {
      limit = rows;
      return true;
    }
    public boolean isPartiallyPushed() { return true; }

    public boolean supportCompletePushDown(Aggregation aggregation) {
      return isCountOfAll(aggregation);
    }
    public boolean pushAggregation(Aggregation aggregation) {
      if (!isCountOfAll(aggregation) || predicates.length > 0 || limit >= 0) return false;
      // Metadata does not tell how many rows these leave.
      CaseInsensitiveStringMap given = new CaseInsensitiveStringMap(options);
      if (given.containsKey("filters") || given.getBoolean("ignoreCorruptFiles", false)) return false;
      count = MosaicScans.countRows(scanOptions(), smallest());
      return count >= 0;
    }
    private static boolean isCountOfAll(Aggregation aggregation) {
      return aggregation.groupByExpressions().length == 0
          && aggregation.aggregateExpressions().length == 1
          && aggregation.aggregateExpressions()[0] instanceof CountStar;
    }

    public Scan build() {
      if (count >= 0) return new CountScan(count);
      StructType columns = inTableOrder(required);
      CaseInsensitiveStringMap scanOptions = scanOptions();
      PythonDataSourceV2 provider = new PythonDataSourceV2();
      provider.setShortName(table.name());
      SupportsRead fresh = (SupportsRead)
          provider.getTable(columns, new Transform[0], scanOptions.asCaseSensitiveMap());
      return new MosaicScan(fresh.newScanBuilder(scanOptions).build(), columns, scanOptions);
    }

    private CaseInsensitiveStringMap scanOptions() {
      Map pushed = new HashMap();
      pushed.put("scan", UUID.randomUUID().toString());
      pushed.put("parallelism", Integer.valueOf(SparkSession.active().leafNodeDefaultParallelism()));
      if (limit >= 0) pushed.put("limit", Integer.valueOf(limit));
      List filters = new ArrayList();
      for (int i = 0; i < predicates.length; i++) filters.add(encoded(predicates[i]));
      pushed.put("filters", filters);
      Map all = new HashMap(options);
      all.put("_pushed", json(pushed));
      return new CaseInsensitiveStringMap(all);
    }

    /** Whole top-level columns, in the table's order. */
    private StructType inTableOrder(StructType schema) {
      Set names = new HashSet(java.util.Arrays.asList(schema.fieldNames()));
      StructField[] fields = table.schema().fields();
      List kept = new ArrayList(names.size());
      for (int i = 0; i < fields.length; i++) if (names.contains(fields[i].name())) kept.add(fields[i]);
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

  static String json(Object value) {
    try {
      return new ObjectMapper().writeValueAsString(value);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /** Rows that a scan reads at most, or -1: MosaicSource tells, where it is there. */
  static long countRows(CaseInsensitiveStringMap options, StructType schema) {
    PythonDataSourceV2 provider = new PythonDataSourceV2();
    provider.setShortName(NAME);
    Object source = provider.source();
    return source instanceof ToLongBiFunction
        ? ((ToLongBiFunction) source).applyAsLong(options, schema) : -1;
  }

  /** Spark's own scan of a Python source, with statistics. */
  public static class MosaicScan implements SupportsReportStatistics {
    final Scan scan;
    final StructType schema;
    final CaseInsensitiveStringMap options;
    Statistics statistics;

    MosaicScan(Scan scan, StructType schema, CaseInsensitiveStringMap options) {
      this.scan = scan;
      this.schema = schema;
      this.options = options;
    }

    public StructType readSchema() { return scan.readSchema(); }
    public Batch toBatch() { return scan.toBatch(); }
    public CustomMetric[] supportedCustomMetrics() { return scan.supportedCustomMetrics(); }
    public Scan.ColumnarSupportMode columnarSupportMode() { return scan.columnarSupportMode(); }
    public String description() {
      return "mosaic " + schema.length() + " columns, pushed: " + options.get("_pushed");
    }
    public synchronized Statistics estimateStatistics() {
      if (statistics == null) {
        long rows = MosaicScans.countRows(options, schema);
        statistics = new RowStatistics(rows, schema.defaultSize() + 8L);
      }
      return statistics;
    }
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

  /** The answer to count(*): no task runs. */
  public static class CountScan implements LocalScan {
    final long count;
    CountScan(long count) { this.count = count; }

    public StructType readSchema() { return new StructType().add("count", DataTypes.LongType, false); }
    public InternalRow[] rows() {
      return new InternalRow[] {new GenericInternalRow(new Object[] {Long.valueOf(count)})};
    }
    public String description() { return "mosaic count(*) from metadata"; }
  }
}
