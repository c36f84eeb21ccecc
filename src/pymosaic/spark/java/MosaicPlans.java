package pymosaic.spark;

import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionOperation;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.command.DataWritingCommand;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Strategy;

/**
 * Scans of whole rows, planned and run without work that Spark does for each column in vain.
 *
 * Plain old Java and raw types: Janino compiles it on the driver.
 */
public class MosaicPlans {
  private static final int WIDE = MosaicFrames.WIDE;

  /** Adds rule and strategy to a session's extensions, also to those of a running session. */
  public static class Extension extends scala.runtime.AbstractFunction1 {
    public Object apply(Object extensions) {
      ((SparkSessionExtensions) extensions).injectPreCBORule(new RuleBuilder());
      ((SparkSessionExtensions) extensions).injectPlannerStrategy(new StrategyBuilder());
      return scala.runtime.BoxedUnit.UNIT;
    }
  }

  public static class RuleBuilder extends scala.runtime.AbstractFunction1 {
    public Object apply(Object session) { return new Whole(); }
  }

  public static class StrategyBuilder extends scala.runtime.AbstractFunction1 {
    public Object apply(Object session) { return new Direct((SparkSession) session); }
  }

  /**
   * Makes the scan of all columns of a wide relation. Spark's own push-down, which comes next, merges
   * the columns one by one into a schema, and looks each of them up among all others: a quadratic
   * number of steps, to find that nothing is left out. It runs when columns have been pruned.
   */
  public static class Whole extends MosaicAnalysis.Shortcut {
    TreeNode shortened(TreeNode plan) {
      LogicalPlan scan = scanned(plan);
      return scan == null ? plan.transformDown(new Change()) : scan;
    }
  }

  public static class Change extends scala.runtime.AbstractPartialFunction {
    /** Operators that leave nothing of what is below them to push down. */
    public boolean isDefinedAt(Object node) {
      return node instanceof V2WriteCommand || node instanceof DataWritingCommand
          || node instanceof RepartitionOperation || node instanceof Union;
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      List children = Values.javaList(((TreeNode) node).children());
      boolean changed = false;
      for (int i = 0; i < children.size(); i++) {
        LogicalPlan scan = scanned(children.get(i));
        if (scan != null) {
          children.set(i, scan);
          changed = true;
        }
      }
      if (!changed) return node;
      return ((TreeNode) node).withNewChildren(Values.scalaList(children).toIndexedSeq());
    }
  }

  /** The scan of a wide relation that has just its table's columns; null for other nodes. */
  static LogicalPlan scanned(Object node) {
    if (!(node instanceof DataSourceV2Relation)) return null;
    DataSourceV2Relation relation = (DataSourceV2Relation) node;
    if (!(relation.table() instanceof MosaicTable) || relation.output().size() < WIDE) return null;
    MosaicTable table = (MosaicTable) relation.table();
    if (relation.output().size() != table.schema().length()) return null;
    Scan scan = table.newScanBuilder(relation.options()).build();
    return scanRelation(new Object[] {relation, scan, relation.output()});
  }

  /** Spark's node for a scan; newer versions tell it more, such as an order, which there is not. */
  private static LogicalPlan scanRelation(Object[] first) {
    Constructor make = DataSourceV2ScanRelation.class.getConstructors()[0];
    Class[] types = make.getParameterTypes();
    Object[] all = new Object[types.length];
    System.arraycopy(first, 0, all, 0, first.length);
    for (int i = first.length; i < all.length; i++) {
      if (types[i] == boolean.class) all[i] = Boolean.FALSE;
      else if (types[i] == scala.Option.class) all[i] = scala.Option.empty();
      else all[i] = Values.scalaList(new ArrayList());
    }
    try {
      return (LogicalPlan) make.newInstance(all);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * Plans a scan as Spark does, without the projection that copies each row to a row of the same
   * form: Spark does not trust sources with that, but rows of Python sources have it.
   */
  public static class Direct extends SparkStrategy {
    private final SparkSession session;

    Direct(SparkSession session) { this.session = session; }

    public scala.collection.immutable.Seq apply(LogicalPlan plan) {
      scala.collection.immutable.Seq none = Values.scalaList(new ArrayList());
      Object below = plan instanceof Filter ? ((Filter) plan).child() : plan;
      if (!(below instanceof DataSourceV2ScanRelation)) return none;
      if (!(((DataSourceV2ScanRelation) below).scan() instanceof MosaicScans.MosaicScan)) return none;
      List planned = Values.javaList(new DataSourceV2Strategy(session).apply(plan));
      if (planned.size() != 1 || !(planned.get(0) instanceof ProjectExec)) return none;
      ProjectExec copying = (ProjectExec) planned.get(0);
      SparkPlan rows = copying.child();
      if (!areSame(copying.projectList(), rows.output())) return none;
      planned.set(0, rows);
      return Values.scalaList(planned);
    }

    /** Whether expressions are these columns; a filter may have found that one has no nulls. */
    private static boolean areSame(
        scala.collection.immutable.Seq expressions, scala.collection.immutable.Seq columns) {
      if (expressions.size() != columns.size()) return false;
      scala.collection.Iterator each = columns.iterator();
      scala.collection.Iterator wanted = expressions.iterator();
      while (each.hasNext()) {
        Object expression = wanted.next();
        if (!(expression instanceof Attribute)) return false;
        if (!((Attribute) expression).exprId().equals(((Attribute) each.next()).exprId())) return false;
      }
      return true;
    }
  }
}
