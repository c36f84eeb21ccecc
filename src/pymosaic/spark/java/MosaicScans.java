package pymosaic.spark;

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
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.GeneralScalarExpression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Strategy$;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.internal.connector.SupportsPushDownCatalystFilters;
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
 * a source of its own for each scan. Spark checks every filter and limit again. Nothing goes through
 * Spark's push-down of aggregates: its translation fails on expressions that the optimizer folded.
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
    return MosaicTables.transformed(plan, new Swap());
  }

  public static class Swap extends scala.runtime.AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return MosaicTables.source(node) != null || counted(node) != null;
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      DataSourceV2Relation counted = counted(node);
      if (counted != null) return withCount((Aggregate) node, counted);
      DataSourceV2Relation relation = MosaicTables.source(node);
      return relation == null ? otherwise.apply(node) : swapped(relation);
    }

    /** The relation with a table of more abilities, or as it is. */
    static DataSourceV2Relation swapped(DataSourceV2Relation relation) {
      PythonTable table = (PythonTable) relation.table();
      if (!usable(table, relation.options())) return relation;
      Object[] fields = MosaicTables.fieldsOf(relation);
      fields[0] = new MosaicTable(table, MosaicTables.storage(relation));
      return (DataSourceV2Relation) relation.makeCopy(fields);
    }

    /** The relation whose rows, and nothing else, a node counts; null for all other nodes. */
    static DataSourceV2Relation counted(Object node) {
      if (!(node instanceof Aggregate)) return null;
      Aggregate aggregate = (Aggregate) node;
      if (aggregate.groupingExpressions().nonEmpty()) return null;
      scala.collection.Iterator results = aggregate.aggregateExpressions().iterator();
      while (results.hasNext()) if (!countsAll(results.next())) return null;
      LogicalPlan child = aggregate.child();
      while (child instanceof Project) child = ((Project) child).child();
      if (!(child instanceof DataSourceV2Relation)) return null;
      DataSourceV2Relation relation = (DataSourceV2Relation) child;
      return relation.table() instanceof MosaicTable || MosaicTables.source(relation) != null
          ? relation : null;
    }

    /** Whether an expression is count(*), under some name. */
    private static boolean countsAll(Object expression) {
      if (!(expression instanceof Alias)
          || !(((Alias) expression).child() instanceof AggregateExpression)) return false;
      AggregateExpression found = (AggregateExpression) ((Alias) expression).child();
      if (found.isDistinct() || found.filter().isDefined()
          || !(found.aggregateFunction() instanceof Count)) return false;
      scala.collection.Iterator counted = ((Count) found.aggregateFunction()).children().iterator();
      while (counted.hasNext()) {
        Object one = counted.next();
        if (!(one instanceof org.apache.spark.sql.catalyst.expressions.Literal)
            || ((org.apache.spark.sql.catalyst.expressions.Literal) one).value() == null) return false;
      }
      return true;
    }

    /** The counts as a row, if metadata tells them: no task runs. */
    static LogicalPlan withCount(Aggregate aggregate, DataSourceV2Relation relation) {
      if (relation.table() instanceof PythonTable) relation = swapped(relation);
      if (!(relation.table() instanceof MosaicTable)) return aggregate;
      MosaicTable table = (MosaicTable) relation.table();
      long count = table.builder(relation.options()).countAll();
      if (count < 0) return aggregate;
      Object[] values = new Object[aggregate.output().size()];
      java.util.Arrays.fill(values, Long.valueOf(count));
      List rows = new ArrayList();
      rows.add(RowFactory.create(values));
      return LocalRelation.fromExternalRows(aggregate.output(), MosaicTables.scalaList(rows));
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

    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) { return builder(options); }

    MosaicScanBuilder builder(CaseInsensitiveStringMap options) {
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
      implements SupportsPushDownRequiredColumns, SupportsPushDownCatalystFilters,
          SupportsPushDownLimit {
    final PythonTable table;
    final Map options;
    StructType required;
    List predicates = new ArrayList();
    int limit = -1;

    MosaicScanBuilder(PythonTable table, Map options) {
      this.table = table;
      this.options = options;
      this.required = table.schema();
    }

    public void pruneColumns(StructType schema) { required = schema; }

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

    /** All rows, or -1 where metadata does not tell how many these options leave. */
    long countAll() {
      CaseInsensitiveStringMap given = new CaseInsensitiveStringMap(options);
      if (given.containsKey("filters") || given.getBoolean("ignoreCorruptFiles", false)) return -1;
      return MosaicScans.countRows(scanOptions(), smallest());
    }

    public Scan build() {
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
      boolean sensitive = SparkSession.active().sessionState().conf().caseSensitiveAnalysis();
      pushed.put("caseSensitive", Boolean.valueOf(sensitive));
      if (!sensitive) pushed.put("alike", alike());
      if (limit >= 0) pushed.put("limit", Integer.valueOf(limit));
      List filters = new ArrayList();
      for (int i = 0; i < predicates.size(); i++) filters.add(encoded((Expression) predicates.get(i)));
      pushed.put("filters", filters);
      Map all = new HashMap(options);
      all.put("_pushed", MosaicTables.json(pushed));
      return new CaseInsensitiveStringMap(all);
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
}
