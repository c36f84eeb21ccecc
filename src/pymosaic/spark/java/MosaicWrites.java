package pymosaic.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwritePartitionsDynamic;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.ExternalCommandRunner;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.GeneralScalarExpression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.LiteralValue;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsOverwriteV2;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.execution.datasources.PartitioningUtils$;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.sources.InsertableRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Writes: each is one job of the dataset, which Python's writer makes. What it replaces is told in
 * options: everything, the partitions that it writes to, or those that a condition selects.
 *
 * Plain old Java and raw types: Janino compiles it on the driver.
 */
public class MosaicWrites {
  static final String MAX_RECORDS = "spark.sql.files.maxRecordsPerFile";
  static final String OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode";
  // What Python evaluates exactly as Spark does, on values of a partition.
  private static final Set EXACT = new HashSet(Arrays.asList(new String[] {
      "=", "<=>", "<", "<=", ">", ">=", "<>", "IN", "IS_NULL", "IS_NOT_NULL", "AND", "OR", "NOT",
      "ALWAYS_TRUE", "ALWAYS_FALSE"}));

  /** Writes rows as the options say. */
  static void write(Dataset data, Map options, boolean overwrite) {
    Map all = withSettings(options, overwrite);
    MosaicSource source = MosaicProvider.source();
    if (all.containsKey(MosaicSink.APPLICATION)
        && source.isWritten(new CaseInsensitiveStringMap(all))) {
      return;
    }
    String prepared = source.prepare(data.schema(), all, overwrite);
    all.put(MosaicSource.PREPARED, prepared);
    try {
      data.write().format(MosaicSource.NAME)
          .mode(overwrite ? SaveMode.Overwrite : SaveMode.Append).options(all).save();
    } finally {
      source.abandon(prepared);
    }
    MosaicCaches.forget((String) all.get("path"));
  }

  /** The options of a write, with what the session says where they say nothing. */
  static Map withSettings(Map options, boolean overwrite) {
    SQLConf conf = SparkSession.active().sessionState().conf();
    Map all = new HashMap(options);
    all.put("_casesensitive", String.valueOf(conf.caseSensitiveAnalysis()));
    if (overwrite && !all.containsKey("partitionoverwritemode")) {
      all.put("partitionoverwritemode", conf.getConfString(OVERWRITE_MODE, "static"));
    }
    if (!all.containsKey("maxrecordsperfile")) {
      all.put("maxrecordsperfile", conf.getConfString(MAX_RECORDS, "0"));
    }
    return all;
  }

  /** Whether predicates select whole partitions, and nothing but these. */
  static boolean selectsPartitions(MosaicTable table, Predicate[] predicates) {
    Set keys = new HashSet(Arrays.asList(table.keys()));
    for (int i = 0; i < predicates.length; i++) if (!isExact(predicates[i], keys)) return false;
    return true;
  }

  private static boolean isExact(Expression expression, Set keys) {
    if (expression instanceof Literal) {
      String type = ((Literal) expression).dataType().typeName();
      return !type.equals("float") && !type.equals("double") && !type.startsWith("string collate");
    }
    if (expression instanceof NamedReference) {
      String[] names = ((NamedReference) expression).fieldNames();
      return names.length == 1 && keys.contains(names[0]);
    }
    if (!(expression instanceof GeneralScalarExpression)) return false;
    GeneralScalarExpression call = (GeneralScalarExpression) expression;
    if (!EXACT.contains(call.name())) return false;
    for (int i = 0; i < call.children().length; i++) {
      if (!isExact(call.children()[i], keys)) return false;
    }
    return true;
  }

  /** Predicates that all hold, as Python reads them. */
  static String condition(Predicate[] predicates) {
    List found = new ArrayList();
    for (int i = 0; i < predicates.length; i++) found.add(MosaicScans.encoded(predicates[i]));
    return Values.json(found);
  }

  /** The partitions of these values. */
  static String condition(StructType schema, InternalRow[] partitions) {
    List any = new ArrayList();
    for (int i = 0; i < partitions.length; i++) {
      List all = new ArrayList();
      for (int j = 0; j < schema.length(); j++) {
        DataType type = schema.fields()[j].dataType();
        Map column = new HashMap();
        column.put("column", schema.fields()[j].name());
        Object value = partitions[i].isNullAt(j) ? null : partitions[i].get(j, type);
        all.add(call("<=>", Arrays.asList(
            new Object[] {column, MosaicScans.encoded(new LiteralValue(value, type))})));
      }
      any.add(call("AND", all));
    }
    return Values.json(Arrays.asList(new Object[] {call("OR", any)}));
  }

  private static Map call(String name, List children) {
    Map found = new HashMap();
    found.put("name", name);
    found.put("children", children);
    return found;
  }

  /** Replaces the partitions of a table that a query has rows for: Spark has no such write of V1. */
  public static class DynamicOverwrite implements ExternalCommandRunner {
    final OverwritePartitionsDynamic plan;

    DynamicOverwrite(OverwritePartitionsDynamic plan) { this.plan = plan; }

    public String[] executeCommand(String command, CaseInsensitiveStringMap ignored) {
      SparkSession session = SparkSession.active();
      Object[] fields = Values.fieldsOf(plan);
      DataSourceV2Relation relation = (DataSourceV2Relation) fields[0];
      Map given = Values.javaMap((scala.collection.immutable.Map) fields[2]);
      MosaicTable table = (MosaicTable) relation.table();
      Map options = table.options(given);
      InternalRow partition = namedPartition(session, table.partitionSchema());
      if (partition == null) {
        options.put("partitionoverwritemode", "dynamic");
      } else {
        options.put("_replace", condition(table.partitionSchema(), new InternalRow[] {partition}));
        options.put("_partitionschema", table.partitionSchema().json());
      }
      write(Dataset$.MODULE$.ofRows(session, (LogicalPlan) fields[1]), options, partition == null);
      Identifier name = (Identifier) relation.identifier().get();
      session.catalog().refreshTable(
          Values.quoted(name.namespace()[0]) + "." + Values.quoted(name.name()));
      return new String[0];
    }

    /**
     * The partition that the statement names with all of its keys, which is replaced also by no rows;
     * null if it leaves a key open. Spark has forgotten the statement by now, but for its text.
     */
    private InternalRow namedPartition(SparkSession session, StructType schema) {
      if (plan.origin().sqlText().isEmpty()) return null;
      List found = new ArrayList();
      try {
        String text = (String) plan.origin().sqlText().get();
        inserts((TreeNode) session.sessionState().sqlParser().parsePlan(text), found);
        if (found.size() != 1) return null;
        Map given = Values.javaMap(((InsertIntoStatement) found.get(0)).partitionSpec());
        SQLConf conf = session.sessionState().conf();
        Object[] row = new Object[schema.length()];
        for (int i = 0; i < row.length; i++) {
          scala.Option value = value(given, schema.fields()[i].name(), conf.resolver());
          if (value == null || value.isEmpty()) return null;
          row[i] = value.get() == null ? null
              : PartitioningUtils$.MODULE$.castPartValueToDesiredType(schema.fields()[i].dataType(),
                  (String) value.get(), java.time.ZoneId.of(conf.sessionLocalTimeZone()));
        }
        return new GenericInternalRow(row);
      } catch (Exception e) {
        return null;
      }
    }

    private static scala.Option value(Map given, String wanted, scala.Function2 resolver) {
      java.util.Iterator names = given.keySet().iterator();
      while (names.hasNext()) {
        Object name = names.next();
        if (((Boolean) resolver.apply(name, wanted)).booleanValue()) return (scala.Option) given.get(name);
      }
      return null;
    }

    private static void inserts(TreeNode parsed, List found) {
      if (parsed instanceof InsertIntoStatement) found.add(parsed);
      scala.collection.Iterator children = parsed.children().iterator();
      while (children.hasNext()) inserts((TreeNode) children.next(), found);
    }
  }

  public static class Builder implements SupportsOverwriteV2 {
    final MosaicTable table;
    final Map options;
    final LogicalWriteInfo info;
    boolean overwrite = false;

    Builder(MosaicTable table, LogicalWriteInfo info, Map options) {
      this.table = table;
      this.info = info;
      this.options = options;
    }

    public boolean canOverwrite(Predicate[] predicates) {
      if (!selectsPartitions(table, predicates)) {
        Refusal.because("overwrite(condition) replaces whole partitions of a mosaic table: the "
            + "condition may only compare its partition columns with values; these are "
            + Arrays.toString(table.keys()));
      }
      return true;
    }

    public WriteBuilder overwrite(Predicate[] predicates) {
      options.put("_replace", condition(predicates));
      options.put("_partitionschema", table.partitionSchema().json());
      return this;
    }

    public WriteBuilder truncate() {
      overwrite = true;
      options.put("partitionoverwritemode", "static");
      return this;
    }

    public Write build() { return new Prepared(options, overwrite, info); }
  }

  /** A write that Spark hands its rows to as a frame. */
  public static class Prepared implements V1Write, InsertableRelation {
    final Map options;
    final boolean overwrite;
    final LogicalWriteInfo info;

    Prepared(Map options, boolean overwrite, LogicalWriteInfo info) {
      this.info = info;
      this.options = options;
      this.overwrite = overwrite;
    }

    public InsertableRelation toInsertableRelation() { return this; }
    public void insert(Dataset data, boolean ignored) { write(data, options, overwrite); }
    public StreamingWrite toStreaming() { return new MosaicSink.ToTable(options, overwrite, info); }
    public String description() { return MosaicProvider.NAME; }
  }
}
