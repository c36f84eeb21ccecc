package pymosaic.spark;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAlias;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BaseGroupingSets;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan$;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;

/**
 * Analyzer rules for wide frames. Many of Spark's own rules walk over all columns of what is below
 * an operator; with 100,000 columns, each of them takes a tenth of a second.
 *
 * Plain old Java and raw types: Janino compiles it on the driver.
 */
public class MosaicAnalysis {
  private static final int WIDE = MosaicFrames.WIDE;
  private static final String RESOLUTION = "extendedResolutionRules";
  private static final String HINTS = "hintResolutionRules";
  private static final TreeNodeTag NARROW = new TreeNodeTag("pymosaic.narrow");

  /** Adds the rules to a session's extensions, from which new sessions have them. */
  public static class Extension extends scala.runtime.AbstractFunction1 {
    public Object apply(Object extensions) {
      ((SparkSessionExtensions) extensions).injectResolutionRule(new Builder(RESOLUTION));
      ((SparkSessionExtensions) extensions).injectHintResolutionRule(new Builder(HINTS));
      return scala.runtime.BoxedUnit.UNIT;
    }
  }

  public static class Builder extends scala.runtime.AbstractFunction1 {
    final String place;

    Builder(String place) { this.place = place; }
    public Object apply(Object session) { return rule(place); }
  }

  private static Rule rule(String place) {
    return place.equals(HINTS) ? (Rule) new Narrowing() : (Rule) new Resolved();
  }

  /** Adds the rules to a running session. */
  public static class Installer {
    public void install() {
      MosaicChecks.add(RESOLUTION, rule(RESOLUTION));
      MosaicChecks.add(HINTS, rule(HINTS));
    }
  }

  /** A rule that only saves time: if anything goes wrong in it, the plan stays as it is. */
  public abstract static class Shortcut extends Rule {
    abstract TreeNode shortened(TreeNode plan);

    public TreeNode apply(TreeNode plan) {
      try {
        return shortened(plan);
      } catch (RuntimeException e) {
        return plan;
      } catch (LinkageError e) {
        return plan;  // another version of Spark lacks what is called here
      }
    }
  }

  /** A relation of a path has nothing left to resolve: no other rule needs to look at its columns. */
  public static class Resolved extends Shortcut {
    TreeNode shortened(TreeNode plan) {
      List leaves = Values.javaList(plan.collectLeaves());
      for (int i = 0; i < leaves.size(); i++) {
        if (!(leaves.get(i) instanceof DataSourceV2Relation)) continue;
        DataSourceV2Relation relation = (DataSourceV2Relation) leaves.get(i);
        if (relation.table() instanceof MosaicTable && relation.identifier().isEmpty()
            && relation.output().size() >= WIDE) relation.setAnalyzed();
      }
      return plan;
    }
  }

  /**
   * A selection or an aggregate of few columns of a wide frame, by their names: those columns are
   * selected before Spark resolves anything. Whatever is less simple is left as it is.
   */
  public static class Narrowing extends Shortcut {
    TreeNode shortened(TreeNode plan) {
      if (plan instanceof Filter || plan instanceof Sort) return widened((LogicalPlan) plan);
      if (!(plan instanceof Project || plan instanceof Aggregate)) return plan;
      LogicalPlan child = (LogicalPlan) plan.children().apply(0);
      if (!child.analyzed() || child.output().size() < WIDE) return plan;
      List columns = wanted((LogicalPlan) plan, child);
      if (columns == null || columns.size() > WIDE / 2) return plan;
      Project narrow = new Project(Values.scalaList(columns), child);
      narrow.setTagValue(NARROW, Boolean.TRUE);
      return over(plan, analyzed(narrow));
    }

    /** A condition or an order after an aggregate may be about any column of the frame below it. */
    private static TreeNode widened(LogicalPlan plan) {
      LogicalPlan child = childOf(plan);
      LogicalPlan aggregate = child instanceof Filter ? childOf(child) : child;
      if (!(aggregate instanceof Aggregate)) return plan;
      LogicalPlan narrow = childOf(aggregate);
      if (narrow.getTagValue(NARROW).isEmpty() || wanted(plan, child) != null) return plan;
      LogicalPlan wide = analyzed(over(aggregate, childOf(narrow)));
      return over(plan, child == aggregate ? wide : analyzed(over(child, wide)));
    }

    /** The columns below a plan that it names; null if it may mean others. */
    private static List wanted(LogicalPlan plan, LogicalPlan child) {
      Wanted wanted = new Wanted();
      List expressions = Values.javaList(plan.expressions());
      for (int i = 0; i < expressions.size(); i++) {
        if (!wanted.add((Expression) expressions.get(i))) return null;
      }
      return wanted.among(child);
    }

    private static LogicalPlan childOf(LogicalPlan plan) {
      return (LogicalPlan) plan.children().apply(0);
    }

    private static LogicalPlan over(TreeNode plan, LogicalPlan child) {
      List children = new ArrayList();
      children.add(child);
      return (LogicalPlan) plan.withNewChildren(Values.scalaList(children).toIndexedSeq());
    }

    private static LogicalPlan analyzed(LogicalPlan plan) {
      plan.setAnalyzed();
      return plan;
    }
  }

  /** The columns that expressions name. */
  static class Wanted {
    private final boolean exactly =
        SparkSession.active().sessionState().conf().caseSensitiveAnalysis();
    private final Set names = new HashSet();
    private final Set identities = new HashSet();

    private String key(String name) { return exactly ? name : name.toLowerCase(Locale.ROOT); }

    /** Whether all that an expression refers to is known: single names, and columns of the frame. */
    boolean add(Expression expression) {
      if (expression instanceof UnresolvedAttribute) {
        UnresolvedAttribute attribute = (UnresolvedAttribute) expression;
        // A frame's own column, in Connect; or a field, or a column of a frame that has a name.
        if (attribute.getTagValue(LogicalPlan$.MODULE$.PLAN_ID_TAG()).isDefined()) return false;
        if (attribute.nameParts().size() != 1) return false;
        names.add(key((String) attribute.nameParts().apply(0)));
        return true;
      }
      if (expression instanceof AttributeReference) {
        identities.add(((AttributeReference) expression).exprId());
        return true;
      }
      if (expression instanceof PlanExpression || isOpen(expression)) return false;
      List children = Values.javaList(expression.children());
      for (int i = 0; i < children.size(); i++) if (!add((Expression) children.get(i))) return false;
      return true;
    }

    /** Whether an expression may turn into any columns, as `*` does, or copies all of them. */
    private static boolean isOpen(Expression expression) {
      return expression instanceof BaseGroupingSets || expression.getClass().getSimpleName().startsWith("Unresolved")
          && !(expression instanceof UnresolvedAlias) && !(expression instanceof UnresolvedFunction);
    }

    /** The columns of a frame that are named, or null if it lacks one. */
    List among(LogicalPlan frame) {
      List found = new ArrayList();
      Set missing = new HashSet(names);
      missing.addAll(identities);
      scala.collection.Iterator each = frame.output().iterator();
      while (each.hasNext()) {
        Attribute column = (Attribute) each.next();
        String name = key(column.name());
        if (names.contains(name) || identities.contains(column.exprId())) found.add(column);
        missing.remove(name);
        missing.remove(column.exprId());
      }
      return missing.isEmpty() ? found : null;
    }
  }
}
