package pymosaic.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.plans.logical.CreateTable;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTable;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.TableSpec;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.ExternalCommandRunner;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.Platform;

/**
 * Replacing tables that exist: the new table is made under another name first, and the old one goes
 * when nothing is left that could fail.
 *
 * Plain old Java and raw types: Janino compiles it on the driver.
 */
public class MosaicReplacements {

  /** Replaces a table that exists by an empty one, or by one over files that are there. */
  public static class ByNothing implements ExternalCommandRunner {
    final ReplaceTable plan;

    ByNothing(ReplaceTable plan) { this.plan = plan; }

    public String[] executeCommand(String command, CaseInsensitiveStringMap ignored) {
      SparkSession session = SparkSession.active();
      Object[] fields = Values.fieldsOf(plan);
      Names names = new Names((ResolvedIdentifier) fields[0]);
      String place = placeOf((TableSpec) fields[3], scala.collection.immutable.Map$.MODULE$.empty());
      if (place != null) checkApart(names.existing(), place);
      names.stage(session, new CreateTable(names.staged, (scala.collection.immutable.Seq) fields[1],
          (scala.collection.immutable.Seq) fields[2], (TableSpec) fields[3], false));
      names.exchange(session, null);
      return new String[0];
    }
  }

  /** Replaces a table that exists by the rows of a query; it stays as it is until they are there. */
  public static class ByQuery implements ExternalCommandRunner {
    final ReplaceTableAsSelect plan;

    ByQuery(ReplaceTableAsSelect plan) { this.plan = plan; }

    public String[] executeCommand(String command, CaseInsensitiveStringMap ignored) {
      SparkSession session = SparkSession.active();
      Object[] fields = Values.fieldsOf(plan);
      Names names = new Names((ResolvedIdentifier) fields[0]);
      String place = placeOf((TableSpec) fields[3], (scala.collection.immutable.Map) fields[4]);
      LogicalPlan query = (LogicalPlan) fields[2];
      if (place == null) {
        names.stage(session, creation(fields, names.staged, query));
        names.exchange(session, null);
        return new String[0];
      }
      LogicalPlan empty = creation(fields, names.target,
          LocalRelation.fromExternalRows(query.output(), Values.scalaList(new ArrayList())));
      CatalogTable existing = names.existing();
      checkApart(existing, place);
      overwrite(session, fields, place);
      if (existing == null) {
        run(session, empty);
      } else {
        names.exchange(session, empty);
      }
      return new String[0];
    }
  }

  /** The name of a table that is replaced, and those of what replaces it and of what it was. */
  private static class Names {
    final ResolvedIdentifier target;
    final ResolvedIdentifier staged;
    final ResolvedIdentifier old;

    Names(ResolvedIdentifier target) {
      String suffix = "_" + UUID.randomUUID().toString().replace("-", "");
      this.target = target;
      this.staged = renamed(target, suffix + "_new");
      this.old = renamed(target, suffix + "_old");
    }

    CatalogTable existing() { return MosaicTables.tableOf(target.identifier()); }

    /** Makes the new table; errors name the one that users know. */
    void stage(SparkSession session, LogicalPlan creation) {
      try {
        run(session, creation);
      } catch (Throwable e) {
        told(e);
      }
    }

    private void told(Throwable e) {
      String text = e.getMessage();
      String name = staged.identifier().name();
      if (text != null && text.contains(name) && e instanceof AnalysisException) {
        Refusal.because(text.replace(name, target.identifier().name()));
      }
      Platform.throwException(e);
    }

    /** Puts what is staged, or what a creation makes, in the place of the table. */
    void exchange(SparkSession session, LogicalPlan creation) {
      SessionCatalog catalog = session.sessionState().catalog();
      TableIdentifier name = MosaicTables.nameOf(target.identifier());
      TableIdentifier before = MosaicTables.nameOf(old.identifier());
      session.catalog().uncacheTable(Values.quoted(target.identifier().namespace()[0]) + "."
          + Values.quoted(target.identifier().name()));
      catalog.refreshTable(name);
      catalog.renameTable(name, before);
      boolean done = false;
      try {
        if (creation == null) {
          catalog.renameTable(MosaicTables.nameOf(staged.identifier()), name);
        } else {
          run(session, creation);
        }
        done = true;
      } finally {
        if (!done) catalog.renameTable(before, name);
      }
      catalog.dropTable(before, true, false);
    }

    private static ResolvedIdentifier renamed(ResolvedIdentifier name, String suffix) {
      Object[] fields = Values.fieldsOf(name);
      fields[1] = Identifier.of(name.identifier().namespace(), name.identifier().name() + suffix);
      return (ResolvedIdentifier) name.makeCopy(fields);
    }
  }

  /** A managed table takes its directory along when it goes, with whatever is in it by then. */
  static void checkApart(CatalogTable existing, String place) {
    if (existing == null || !existing.tableType().equals(CatalogTableType.MANAGED())) return;
    String own = new Path(existing.location()).toUri().getPath() + "/";
    String wanted = new Path(place).toUri().getPath() + "/";
    if (own.startsWith(wanted) || wanted.startsWith(own)) {
      Refusal.because("the table that is replaced is managed, and its directory " + own + " goes with it: "
          + "leave out the location, or name another");
    }
  }

  /** Spark's own command that makes a table and fills it, or removes it if that fails. */
  static LogicalPlan creation(Object[] fields, ResolvedIdentifier name, LogicalPlan query) {
    return new CreateTableAsSelect(name, (scala.collection.immutable.Seq) fields[1], query,
        (TableSpec) fields[3], (scala.collection.immutable.Map) fields[4], false, true);
  }

  static void run(SparkSession session, LogicalPlan plan) {
    Dataset$.MODULE$.ofRows(session, plan);
  }

  /** The options of the new table and of the write, which win. */
  static Map given(TableSpec spec, scala.collection.immutable.Map writeOptions) {
    return Values.options(Values.javaMap(spec.options()), Values.javaMap(writeOptions));
  }

  /** Where the new table is to lie, if the user says so. */
  static String placeOf(TableSpec spec, scala.collection.immutable.Map writeOptions) {
    if (spec.location().isDefined()) return (String) spec.location().get();
    return (String) given(spec, writeOptions).get("path");
  }

  /** Writes the rows where the table is to lie; what is there goes when they are published. */
  static void overwrite(SparkSession session, Object[] fields, String place) {
    Map options = given((TableSpec) fields[3], (scala.collection.immutable.Map) fields[4]);
    List names = new ArrayList();
    List transforms = Values.javaList((scala.collection.Iterable) fields[1]);
    for (int i = 0; i < transforms.size(); i++) {
      names.add(((Transform) transforms.get(i)).references()[0].fieldNames()[0]);
    }
    if (!names.isEmpty()) options.put("partitionby", Values.json(names));
    options.put("partitionoverwritemode", "static");
    options.remove("path");
    Dataset$.MODULE$.ofRows(session, (LogicalPlan) fields[2]).write().format(MosaicProvider.NAME)
        .mode(SaveMode.Overwrite).options(options).save(place);
  }
}
