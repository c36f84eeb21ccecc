package pymosaic.spark;

import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Optimizer rule that takes count, min and max of all rows of a table from metadata: no task runs.
 *
 * Nothing goes through Spark's own push-down of aggregates: its translation fails on expressions that
 * the optimizer folded.
 *
 * Plain old Java and raw types: Janino compiles it on the driver.
 */
public class MosaicAggregates extends Rule {
  /** Adds the rule to a session's extensions, also to those of a running session. */
  public static class Extension extends scala.runtime.AbstractFunction1 {
    public Object apply(Object extensions) {
      ((SparkSessionExtensions) extensions).injectOptimizerRule(new RuleBuilder());
      return scala.runtime.BoxedUnit.UNIT;
    }
  }

  public static class RuleBuilder extends scala.runtime.AbstractFunction1 {
    public Object apply(Object session) { return new MosaicAggregates(); }
  }

  public TreeNode apply(TreeNode plan) {
    if (!MosaicScans.isOn(conf())) return plan;
    return MosaicTables.transformed(plan, new Change());
  }

  public static class Change extends scala.runtime.AbstractPartialFunction {
    public boolean isDefinedAt(Object node) { return relation(node) != null; }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      DataSourceV2Relation found = relation(node);
      return found == null ? otherwise.apply(node) : answered((Aggregate) node, found);
    }
  }

  /** The relation whose rows, all of them, a node without groups aggregates; null for other nodes. */
  static DataSourceV2Relation relation(Object node) {
    if (!(node instanceof Aggregate)) return null;
    Aggregate aggregate = (Aggregate) node;
    if (aggregate.groupingExpressions().nonEmpty()) return null;
    LogicalPlan child = aggregate.child();
    while (child instanceof Project) child = ((Project) child).child();
    if (!(child instanceof DataSourceV2Relation)) return null;
    DataSourceV2Relation relation = (DataSourceV2Relation) child;
    return MosaicFiles.tableOf(relation) == null ? null : relation;
  }

  /** The results as a row, or the aggregate as it is where metadata does not tell them. */
  static LogicalPlan answered(Aggregate aggregate, DataSourceV2Relation relation) {
    List functions = new ArrayList();
    List columns = new ArrayList();
    scala.collection.Iterator results = aggregate.aggregateExpressions().iterator();
    while (results.hasNext()) {
      Object[] function = function(results.next(), aggregate.child());
      if (function == null) return aggregate;
      StructField column = (StructField) function[1];
      functions.add(Arrays.asList(new Object[] {function[0], column == null ? null : column.name()}));
      if (column != null && !columns.contains(column)) columns.add(column);
    }
    MosaicTable table = MosaicFiles.tableOf(relation);
    Map options = table.options(relation.options().asCaseSensitiveMap());
    StructType schema = new StructType((StructField[]) columns.toArray(new StructField[0]));
    String[] texts = new MosaicScans.Builder(table, options).aggregate(schema, functions);
    if (texts == null) return aggregate;
    Object[] values = new Object[texts.length];
    for (int i = 0; i < values.length; i++) {
      values[i] = value(texts[i], ((Attribute) aggregate.output().apply(i)).dataType());
    }
    List rows = new ArrayList();
    rows.add(RowFactory.create(values));
    return LocalRelation.fromExternalRows(aggregate.output(), Values.scalaList(rows));
  }

  /** The name of a function, and the column of the relation that it is of (null for all rows). */
  private static Object[] function(Object expression, LogicalPlan child) {
    if (!(expression instanceof Alias)
        || !(((Alias) expression).child() instanceof AggregateExpression)) return null;
    AggregateExpression found = (AggregateExpression) ((Alias) expression).child();
    AggregateFunction function = found.aggregateFunction();
    if (found.isDistinct() || found.filter().isDefined()) return null;
    String name = function instanceof Count ? "count" : function instanceof Min ? "min"
        : function instanceof Max ? "max" : null;
    if (name == null) return null;
    List arguments = Values.javaList(function.children());
    if (name.equals("count")) {
      boolean all = true;
      for (int i = 0; i < arguments.size(); i++) {
        all &= arguments.get(i) instanceof Literal && ((Literal) arguments.get(i)).value() != null;
      }
      if (all) return new Object[] {name, null};
    }
    if (arguments.size() != 1 || !(arguments.get(0) instanceof Attribute)) return null;
    StructField column = column((Attribute) arguments.get(0), child);
    if (column == null || !name.equals("count") && !isOrdered(column.dataType())) return null;
    return new Object[] {name, column};
  }

  /** The column of the relation below that an attribute stands for; null if it is computed. */
  private static StructField column(Attribute wanted, LogicalPlan child) {
    while (child instanceof Project) {
      Object source = null;
      scala.collection.Iterator all = ((Project) child).projectList().iterator();
      while (all.hasNext()) {
        NamedExpression one = (NamedExpression) all.next();
        if (one.exprId().equals(wanted.exprId())) {
          source = one instanceof Alias ? ((Alias) one).child() : one;
        }
      }
      if (!(source instanceof Attribute)) return null;
      wanted = (Attribute) source;
      child = ((Project) child).child();
    }
    DataSourceV2Relation relation = (DataSourceV2Relation) child;
    scala.collection.Iterator all = relation.output().iterator();
    while (all.hasNext()) {
      Attribute one = (Attribute) all.next();
      if (one.exprId().equals(wanted.exprId())) {
        StructType schema = relation.table().schema();
        scala.Option place = schema.getFieldIndex(one.name());
        return place.isEmpty() ? null : schema.fields()[((Integer) place.get()).intValue()];
      }
    }
    return null;
  }

  /** Types whose smallest and largest values Spark and statistics agree on. */
  private static boolean isOrdered(DataType type) {
    String name = type.typeName();
    return name.equals("byte") || name.equals("short") || name.equals("integer")
        || name.equals("long") || name.equals("boolean") || name.equals("date")
        || name.equals("timestamp") || name.equals("timestamp_ntz") || name.equals("string")
        || name.startsWith("decimal");
  }

  /** A result; dates and times come as days and microseconds since 1970. */
  private static Object value(String text, DataType type) {
    if (text == null) return null;
    String name = type.typeName();
    if (name.equals("byte")) return Byte.valueOf(text);
    if (name.equals("short")) return Short.valueOf(text);
    if (name.equals("integer")) return Integer.valueOf(text);
    if (name.equals("long")) return Long.valueOf(text);
    if (name.equals("boolean")) return Boolean.valueOf(text);
    if (name.equals("string")) return text;
    if (name.equals("date")) return LocalDate.ofEpochDay(Long.parseLong(text));
    if (name.startsWith("decimal")) return new BigDecimal(text);
    Instant instant = Instant.EPOCH.plus(Long.parseLong(text), ChronoUnit.MICROS);
    return name.equals("timestamp") ? (Object) instant : LocalDateTime.ofInstant(instant, ZoneOffset.UTC);
  }
}
