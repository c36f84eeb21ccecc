package pymosaic.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.InputFileBlockLength;
import org.apache.spark.sql.catalyst.expressions.InputFileBlockStart;
import org.apache.spark.sql.catalyst.expressions.InputFileName;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Offset;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionOperation;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.NoopCache$;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.FileTable;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Optimizer rule for what Spark tells of files only if a source is one of its own file sources:
 * input_file_name() and its kin become fields of the hidden column, and df.inputFiles() finds a FileTable.
 *
 * Plain old Java and raw types: Janino compiles it on the driver.
 */
public class MosaicFiles extends Rule {
  /** Adds the rule to a session's extensions, also to those of a running session. */
  public static class Extension extends scala.runtime.AbstractFunction1 {
    public Object apply(Object extensions) {
      ((SparkSessionExtensions) extensions).injectOptimizerRule(new RuleBuilder());
      return scala.runtime.BoxedUnit.UNIT;
    }
  }

  public static class RuleBuilder extends scala.runtime.AbstractFunction1 {
    public Object apply(Object session) { return new MosaicFiles(); }
  }

  public TreeNode apply(TreeNode plan) {
    return MosaicTables.transformed(plan, new Change(!(plan instanceof Command)));
  }

  public static class Change extends scala.runtime.AbstractPartialFunction {
    private final boolean isQuery;

    /** Commands need tables as they are, such as to delete from them. */
    Change(boolean isQuery) { this.isQuery = isQuery; }

    public boolean isDefinedAt(Object node) {
      return asksForFile(node) || isQuery && isPlain(node);
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (asksForFile(node)) return withFile((LogicalPlan) node);
      return isQuery && isPlain(node) ? listed((DataSourceV2Relation) node) : otherwise.apply(node);
    }
  }

  /** The table of a relation, whether it is listed or not; null for those of other sources. */
  static MosaicTable tableOf(DataSourceV2Relation relation) {
    if (relation.table() instanceof Listed) return ((Listed) relation.table()).table;
    return relation.table() instanceof MosaicTable ? (MosaicTable) relation.table() : null;
  }

  private static boolean isPlain(Object node) {
    return node instanceof DataSourceV2Relation
        && ((DataSourceV2Relation) node).table() instanceof MosaicTable;
  }

  private static DataSourceV2Relation listed(DataSourceV2Relation relation) {
    Object[] fields = Values.fieldsOf(relation);
    fields[0] = new Listed((MosaicTable) relation.table(), relation.options());
    return (DataSourceV2Relation) relation.makeCopy(fields);
  }

  /** A table whose files df.inputFiles() can tell: it does so for tables of this class only. */
  public static class Listed extends FileTable implements SupportsMetadataColumns {
    final MosaicTable table;
    final CaseInsensitiveStringMap options;

    Listed(MosaicTable table, CaseInsensitiveStringMap options) {
      super(SparkSession.active(), options, Values.scalaList(new ArrayList()), scala.Option.empty());
      this.table = table;
      this.options = options;
    }

    public String name() { return table.name(); }
    public StructType schema() { return table.schema(); }
    public StructType dataSchema() { return table.schema(); }
    public Column[] columns() { return table.columns(); }
    public Transform[] partitioning() { return table.partitioning(); }
    public Map properties() { return table.properties(); }
    public Set capabilities() { return table.capabilities(); }
    public MetadataColumn[] metadataColumns() { return table.metadataColumns(); }
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap given) {
      return table.newScanBuilder(given);
    }
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) { return table.newWriteBuilder(info); }
    public String formatName() { return MosaicProvider.NAME; }
    public Class fallbackFileFormat() { return MosaicProvider.class; }
    public scala.Option inferSchema(scala.collection.immutable.Seq files) {
      return scala.Option.apply(table.schema());
    }
    public PartitioningAwareFileIndex fileIndex() { return new Index(this); }
    public boolean equals(Object other) {
      return other instanceof Listed && table.equals(((Listed) other).table);
    }
    public int hashCode() { return table.hashCode(); }
  }

  /** The files of a table, without directories that Spark could list. */
  public static class Index extends InMemoryFileIndex {
    private final Listed listed;

    Index(Listed listed) {
      super(SparkSession.active(), Values.scalaList(new ArrayList()),
          scala.collection.immutable.Map$.MODULE$.empty(), scala.Option.empty(), NoopCache$.MODULE$,
          scala.Option.empty(), scala.Option.empty());
      this.listed = listed;
    }

    public String[] inputFiles() {
      Map options = listed.table.options(listed.options.asCaseSensitiveMap());
      options.put("_state", listed.table.state(options));
      return MosaicProvider.source().files(new CaseInsensitiveStringMap(options));
    }
  }

  /** The field of the hidden column that a function of Spark tells; null for other expressions. */
  private static String fieldOf(Object expression) {
    if (expression instanceof InputFileName) return "file_path";
    if (expression instanceof InputFileBlockStart) return "file_block_start";
    return expression instanceof InputFileBlockLength ? "file_block_length" : null;
  }

  static boolean asksForFile(Object node) {
    if (!(node instanceof Project || node instanceof Filter || node instanceof Aggregate)) return false;
    scala.collection.Iterator all = ((LogicalPlan) node).expressions().iterator();
    while (all.hasNext()) if (hasFile((Expression) all.next())) return true;
    return false;
  }

  private static boolean hasFile(Expression expression) {
    if (fieldOf(expression) != null) return true;
    scala.collection.Iterator all = expression.children().iterator();
    while (all.hasNext()) if (hasFile((Expression) all.next())) return true;
    return false;
  }

  /** A node that reads the name of the file from the hidden column of the relation below it. */
  static LogicalPlan withFile(LogicalPlan node) {
    Object[] below = withHidden((LogicalPlan) node.children().apply(0));
    if (below == null) {
      refuseSeveral((LogicalPlan) node.children().apply(0));
      return node;
    }
    LogicalPlan changed = (LogicalPlan) over(node, (LogicalPlan) below[0]).transformExpressionsDown(new Named((Attribute) below[1]));
    return node instanceof Filter ? new Project((scala.collection.immutable.Seq) node.output(), changed) : changed;
  }

  public static class Named extends scala.runtime.AbstractPartialFunction {
    final Attribute hidden;

    Named(Attribute hidden) { this.hidden = hidden; }

    public boolean isDefinedAt(Object expression) { return fieldOf(expression) != null; }
    public Object applyOrElse(Object expression, scala.Function1 otherwise) {
      String field = fieldOf(expression);
      if (field == null) return otherwise.apply(expression);
      int place = ((StructType) hidden.dataType()).fieldIndex(field);
      return new GetStructField(hidden, place, scala.Option.apply(field));
    }
  }

  /** A plan with the hidden column of its relation among its output, and that column; or null. */
  private static Object[] withHidden(LogicalPlan plan) {
    if (plan instanceof DataSourceV2Relation) {
      DataSourceV2Relation relation = (DataSourceV2Relation) plan;
      if (tableOf(relation) == null) return null;
      DataSourceV2Relation more = relation.withMetadataColumns();
      Attribute hidden = (Attribute) more.output().apply(more.output().size() - 1);
      return hidden.name().equals("_metadata") ? new Object[] {more, hidden} : null;
    }
    if (plan instanceof Union) return withHidden((Union) plan);
    if (plan instanceof Join) return withHidden((Join) plan);
    if (!(plan instanceof Project || keepsRows(plan))) return null;
    Object[] below = withHidden((LogicalPlan) plan.children().apply(0));
    if (below == null) return null;
    if (plan instanceof Project) {
      List kept = Values.javaList(((Project) plan).projectList());
      kept.add(below[1]);
      return new Object[] {
          new Project(Values.scalaList(kept), (LogicalPlan) below[0]), below[1]};
    }
    return new Object[] {over(plan, (LogicalPlan) below[0]), below[1]};
  }

  /** All parts of a union with their hidden column at the end, which is one column above it. */
  private static Object[] withHidden(Union union) {
    List parts = Values.javaList(union.children());
    for (int i = 0; i < parts.size(); i++) {
      LogicalPlan part = (LogicalPlan) parts.get(i);
      Object[] found = withHidden(part);
      if (found == null) return null;
      List columns = Values.javaList(part.output());
      columns.add(found[1]);
      parts.set(i, new Project(Values.scalaList(columns), (LogicalPlan) found[0]));
    }
    LogicalPlan changed =
        (LogicalPlan) union.withNewChildren(Values.scalaList(parts).toIndexedSeq());
    return new Object[] {changed, changed.output().last()};
  }

  /** A join with rows that are in no file, of a side of which each row has one. */
  private static Object[] withHidden(Join join) {
    String type = join.joinType().toString();
    boolean both = type.equals("Inner") || type.equals("Cross");
    boolean[] hasRow = new boolean[] {
        !type.equals("RightOuter") && !type.equals("FullOuter"), both || type.equals("RightOuter")};
    List sides = Values.javaList(join.children());
    for (int i = 0; i < 2; i++) {
      if (!hasRow[i] || filesOf((LogicalPlan) sides.get(1 - i)) > 0) continue;
      Object[] found = withHidden((LogicalPlan) sides.get(i));
      if (found == null) continue;
      sides.set(i, found[0]);
      return new Object[] {join.withNewChildren(Values.scalaList(sides).toIndexedSeq()), found[1]};
    }
    return null;
  }

  /** Whether the rows of a node are those below it, with all of their columns. */
  private static boolean keepsRows(LogicalPlan plan) {
    return plan instanceof Filter || plan instanceof Sort || plan instanceof Sample
        || plan instanceof GlobalLimit || plan instanceof LocalLimit || plan instanceof Offset
        || plan instanceof RepartitionOperation || plan instanceof Generate;
  }

  private static LogicalPlan over(LogicalPlan plan, LogicalPlan child) {
    List children = new ArrayList();
    children.add(child);
    return (LogicalPlan) plan.withNewChildren(Values.scalaList(children).toIndexedSeq());
  }

  /** As Spark does for its own file sources: the rows of a join come from more than one file. */
  private static void refuseSeveral(LogicalPlan plan) {
    if (filesOf(plan) > 1 && hasOurs(plan) && joins(plan)) {
      Refusal.because("input_file_name() and its kin do not support more than one source: select it "
          + "from one of them before the join");
    }
  }

  private static int filesOf(LogicalPlan plan) {
    List leaves = Values.javaList(plan.collectLeaves());
    int files = 0;
    for (int i = 0; i < leaves.size(); i++) {
      if (isOurs(leaves.get(i)) || leaves.get(i) instanceof LogicalRelation) files++;
    }
    return files;
  }

  private static boolean hasOurs(LogicalPlan plan) {
    List leaves = Values.javaList(plan.collectLeaves());
    for (int i = 0; i < leaves.size(); i++) if (isOurs(leaves.get(i))) return true;
    return false;
  }

  private static boolean isOurs(Object leaf) {
    return leaf instanceof DataSourceV2Relation && tableOf((DataSourceV2Relation) leaf) != null;
  }

  private static boolean joins(LogicalPlan plan) {
    if (plan instanceof Join) return true;
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) if (joins((LogicalPlan) children.next())) return true;
    return false;
  }
}
