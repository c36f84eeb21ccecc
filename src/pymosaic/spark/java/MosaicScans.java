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
import org.apache.spark.sql.connector.catalog.SupportsRead;
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
import org.apache.spark.sql.internal.connector.SupportsPushDownCatalystFilters;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Scans of a table: Spark's own scan of a Python source, with what such sources lack: column pruning,
 * filters, limits and statistics; and an optimizer rule that takes count(*) from metadata.
 *
 * What Spark pushes down travels in options, to a source of its own for each scan. Spark checks every
 * filter and limit again. Nothing goes through Spark's push-down of aggregates: its translation fails
 * on expressions that the optimizer folded.
 *
 * Plain old Java and raw types: Janino compiles it on the driver.
 */
public class MosaicScans extends Rule {
  static final String SWITCH = "spark.mosaic.pushDown";

  /** Adds the rule to a session's extensions, also to those of a running session. */
  public static class Extension extends scala.runtime.AbstractFunction1 {
    public Object apply(Object extensions) {
      ((SparkSessionExtensions) extensions).injectOptimizerRule(new RuleBuilder());
      return scala.runtime.BoxedUnit.UNIT;
    }
  }

  public static class RuleBuilder extends scala.runtime.AbstractFunction1 {
    public Object apply(Object session) { return new MosaicScans(); }
  }

  public TreeNode apply(TreeNode plan) {
    if (!pushesDown()) return plan;
    return MosaicTables.transformed(plan, new Change());
  }

  static boolean pushesDown() {
    return "true".equalsIgnoreCase(
        SparkSession.active().sessionState().conf().getConfString(SWITCH, "true"));
  }

  /** A scan that nothing is pushed into. */
  public static class Wide implements ScanBuilder {
    final Builder builder;

    Wide(Builder builder) { this.builder = builder; }

    public Scan build() { return builder.build(); }
  }

  public static class Change extends scala.runtime.AbstractPartialFunction {
    public boolean isDefinedAt(Object node) { return counted(node) != null; }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      DataSourceV2Relation counted = counted(node);
      return counted == null ? otherwise.apply(node) : withCount((Aggregate) node, counted);
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
      return relation.table() instanceof MosaicTable ? relation : null;
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
      MosaicTable table = (MosaicTable) relation.table();
      Map options = table.options(relation.options().asCaseSensitiveMap());
      long count = new Builder(table, options).countAll();
      if (count < 0) return aggregate;
      Object[] values = new Object[aggregate.output().size()];
      java.util.Arrays.fill(values, Long.valueOf(count));
      List rows = new ArrayList();
      rows.add(RowFactory.create(values));
      return LocalRelation.fromExternalRows(aggregate.output(), Values.scalaList(rows));
    }
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
      return MosaicProvider.source().countRows(scanOptions(), smallest());
    }

    public Scan build() {
      StructType columns = inTableOrder(required);
      CaseInsensitiveStringMap scanOptions = scanOptions();
      MosaicProvider.source();
      PythonDataSourceV2 provider = new PythonDataSourceV2();
      provider.setShortName(MosaicSource.NAME);
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
      all.put("_pushed", Values.json(pushed));
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
        long rows = MosaicProvider.source().countRows(options, schema);
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
