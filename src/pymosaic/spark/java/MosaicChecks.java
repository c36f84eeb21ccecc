package pymosaic.spark;

import java.lang.reflect.Field;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.analysis.Analyzer;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.NullType;

/**
 * What is refused when a plan is analysed: afterwards, columns that rows lack look like nulls. And
 * what spark.catalog tells of tables, which have no other rule.
 *
 * Plain old Java and raw types: Janino compiles it on the driver.
 */
public class MosaicChecks extends scala.runtime.AbstractFunction1 {
  private static final String RULES = "extendedCheckRules";

  /** Adds the check to a session's extensions, from which new sessions have it. */
  public static class Extension extends scala.runtime.AbstractFunction1 {
    public Object apply(Object extensions) {
      ((SparkSessionExtensions) extensions).injectCheckRule(new Builder());
      return scala.runtime.BoxedUnit.UNIT;
    }
  }

  public static class Builder extends scala.runtime.AbstractFunction1 {
    public Object apply(Object session) { return new MosaicChecks(); }
  }

  /** Adds the check to a running session. */
  public static class Installer {
    public void install() { add(RULES, new MosaicChecks()); }
  }

  /** Adds a rule to those of a running session, whose analyzer may have been made before, once. */
  static void add(String name, Object rule) {
    try {
      Analyzer analyzer = SparkSession.active().sessionState().analyzer();
      Field field = analyzer.getClass().getDeclaredField(name);
      field.setAccessible(true);
      List rules = Values.javaList((scala.collection.Iterable) field.get(analyzer));
      for (int i = 0; i < rules.size(); i++) if (rules.get(i).getClass() == rule.getClass()) return;
      rules.add(rule);
      field.set(analyzer, Values.scalaList(rules));
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  public Object apply(Object plan) {
    if (plan instanceof ResolvedTable) describe((ResolvedTable) plan);
    if (plan instanceof AppendData) checkColumns((AppendData) plan);
    if (plan instanceof V2WriteCommand && ((V2WriteCommand) plan).isByName()) {
      checkPlace((V2WriteCommand) plan);
    }
    return scala.runtime.BoxedUnit.UNIT;
  }

  /** A plan that is nothing but a table is that of spark.catalog.getTable; no rule will name it. */
  private static void describe(ResolvedTable node) {
    if (node.table() instanceof MosaicTable) {
      ((MosaicTable) node.table()).describe(MosaicTables.tableOf(node.identifier()));
    }
  }

  /** As for Spark's own tables, saveAsTable needs all columns; INSERT fills those that it lacks. */
  private static void checkColumns(AppendData append) {
    Object table = append.productElement(0);
    if (append.isByName() && append.origin().sqlText().isEmpty()
        && table instanceof DataSourceV2Relation
        && MosaicFiles.tableOf((DataSourceV2Relation) table) != null) {
      List missing = filled(append.productElement(1));
      if (!missing.isEmpty()) {
        Refusal.because("the rows to append lack columns of the table (" + String.join(", ", missing)
            + "): add them, or fill them with NULL by INSERT INTO table BY NAME SELECT ...");
      }
    }
  }

  /** As for Spark's own tables, rows are not saved in another place than that of the table. */
  private static void checkPlace(V2WriteCommand write) {
    if (!(write.table() instanceof DataSourceV2Relation)) return;
    DataSourceV2Relation relation = (DataSourceV2Relation) write.table();
    if (MosaicFiles.tableOf(relation) == null || relation.identifier().isEmpty()) return;
    Object path = null;
    Object[] fields = Values.fieldsOf((scala.Product) write);
    for (int i = 0; i < fields.length; i++) {
      if (fields[i] instanceof scala.collection.immutable.Map) {
        Map given = Values.javaMap((scala.collection.immutable.Map) fields[i]);
        path = Values.options(given, Values.emptyMap()).get("path");
      }
    }
    if (path == null) return;
    CatalogTable known = MosaicTables.tableOf((Identifier) relation.identifier().get());
    if (known == null || known.storage().locationUri().isEmpty()) return;
    URI own = new Path(known.location()).toUri();
    URI wanted = new Path((String) path).toUri();
    if (!wanted.getPath().equals(own.getPath())
        || wanted.getScheme() != null && !wanted.getScheme().equals(own.getScheme())) {
      Refusal.because("the table " + known.identifier().unquotedString() + " lies in " + own
          + ", not in " + path + ": leave out the option path");
    }
  }

  /** The columns that Spark has filled with nulls of their type; a null that users select has none. */
  private static List filled(Object query) {
    List found = new ArrayList();
    if (!(query instanceof Project)) return found;
    List items = Values.javaList(((Project) query).projectList());
    for (int i = 0; i < items.size(); i++) {
      if (!(items.get(i) instanceof Alias)) continue;
      Object value = ((Alias) items.get(i)).child();
      if (value instanceof Literal && ((Literal) value).value() == null
          && !(((Literal) value).dataType() instanceof NullType)) found.add(((Alias) items.get(i)).name());
    }
    return found;
  }
}
