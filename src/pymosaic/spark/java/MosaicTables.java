package pymosaic.spark;

import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.hadoop.fs.Path;
import org.apache.spark.QueryContext;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.ColumnDefinition;
import org.apache.spark.sql.catalyst.plans.logical.CreateTable;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTable;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.TableSpec;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.ExternalCommandRunner;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.execution.command.ExternalCommandExecutor;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.V2SessionCatalog;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.Platform;

/**
 * Optimizer rule for what is written into "mosaic" tables and paths, and how tables are made.
 *
 * - Writes get the options that the session catalog keeps of a table, which Spark drops, and the
 *   session's settings that decide what a write means.
 * - Partition columns of a new table come last, as in Spark's own tables; buckets are refused.
 * - A table that exists is replaced after its new rows were written: Spark itself would drop it
 *   first, also if the query reads it, and lose it if the query fails.
 *
 * Plain old Java and raw types: Janino compiles it on the driver.
 */
public class MosaicTables extends Rule {
  public static final String NAME = "mosaic";
  static final String OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode";

  /** Adds the rule to a session's extensions, also to those of a running session. */
  public static class Extension extends scala.runtime.AbstractFunction1 {
    public Object apply(Object extensions) {
      ((SparkSessionExtensions) extensions).injectOptimizerRule(new Builder());
      return scala.runtime.BoxedUnit.UNIT;
    }
  }

  public static class Builder extends scala.runtime.AbstractFunction1 {
    public Object apply(Object session) { return new MosaicTables(); }
  }

  /** What users are told; all other exceptions in a rule leave the plan to Spark. */
  public static class Refusal extends AnalysisException {
    Refusal(String message) {
      super(message, scala.Option.empty(), scala.Option.empty(), scala.Option.empty(),
          scala.Option.empty(), scala.collection.immutable.Map$.MODULE$.empty(), new QueryContext[0]);
    }
  }

  public static void refuse(String message) { Platform.throwException(new Refusal(message)); }

  public TreeNode apply(TreeNode plan) {
    return transformed(plan, new Change());
  }

  /** A plan after a change of its nodes; the plan itself if anything but a refusal goes wrong. */
  public static TreeNode transformed(TreeNode plan, scala.PartialFunction change) {
    try {
      return plan.transformDown(change);
    } catch (Throwable e) {
      if (e instanceof Refusal || e instanceof VirtualMachineError || e instanceof InterruptedException) {
        Platform.throwException(e);
      }
      return plan;
    }
  }

  public static class Change extends scala.runtime.AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return source(written(node)) != null || creates(node) || takesOver(node);
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (takesOver(node)) {
        refuse("saveAsTable would lose the table that is there, which is of another source: use "
            + "df.writeTo(table).using(\"mosaic\").createOrReplace()");
      }
      if (creates(node)) return created((TreeNode) node);
      if (source(written(node)) != null) return completed((TreeNode) node, source(written(node)));
      return otherwise.apply(node);
    }
  }

  /** The node if it is a relation of this source as Spark made it. */
  public static DataSourceV2Relation source(Object node) {
    if (!(node instanceof DataSourceV2Relation)) return null;
    Table table = ((DataSourceV2Relation) node).table();
    return table instanceof PythonTable && NAME.equalsIgnoreCase(table.name())
        ? (DataSourceV2Relation) node : null;
  }

  /** What a node writes into; null if it does not write. */
  public static Object written(Object node) {
    return node instanceof AppendData || node instanceof OverwriteByExpression
        ? ((TreeNode) node).productElement(0) : null;
  }

  /** A write with all the options that it goes by, in both places where Spark looks for them. */
  public static TreeNode completed(TreeNode write, DataSourceV2Relation relation) {
    Object[] fields = fieldsOf(write);
    int place = write instanceof AppendData ? 2 : 3;
    Map options = new HashMap(relation.options().asCaseSensitiveMap());
    options.putAll(javaOptions((scala.collection.immutable.Map) fields[place]).asCaseSensitiveMap());
    CaseInsensitiveStringMap given = new CaseInsensitiveStringMap(options);
    Map added = given.containsKey("path") ? new HashMap() : storage(relation);
    SQLConf conf = SparkSession.active().sessionState().conf();
    added.put("_casesensitive", String.valueOf(conf.caseSensitiveAnalysis()));
    if (write instanceof OverwriteByExpression && !added.containsKey("partitionoverwritemode")) {
      added.put("partitionoverwritemode", conf.getConfString(OVERWRITE_MODE, "static"));
    }
    boolean changed = false;
    java.util.Iterator entries = added.entrySet().iterator();
    while (entries.hasNext()) {
      Map.Entry entry = (Map.Entry) entries.next();
      if (!given.containsKey((String) entry.getKey())) {
        options.put(entry.getKey(), entry.getValue());
        changed = true;
      }
    }
    if (!changed) return write;
    Object[] relationFields = fieldsOf(relation);
    relationFields[4] = new CaseInsensitiveStringMap(options);
    fields[0] = relation.makeCopy(relationFields);
    fields[place] = scalaMap(options);
    return write.makeCopy(fields);
  }

  static scala.collection.immutable.Map scalaMap(Map items) {
    scala.collection.immutable.Map found = scala.collection.immutable.Map$.MODULE$.empty();
    java.util.Iterator entries = items.entrySet().iterator();
    while (entries.hasNext()) {
      Map.Entry entry = (Map.Entry) entries.next();
      found = (scala.collection.immutable.Map) found.updated(entry.getKey(), entry.getValue());
    }
    return found;
  }

  public static CaseInsensitiveStringMap javaOptions(scala.collection.immutable.Map options) {
    Map found = new HashMap();
    scala.collection.Iterator entries = options.iterator();
    while (entries.hasNext()) {
      scala.Tuple2 entry = (scala.Tuple2) entries.next();
      found.put(entry._1(), entry._2());
    }
    return new CaseInsensitiveStringMap(found);
  }

  public static Object[] fieldsOf(TreeNode node) {
    Object[] fields = new Object[node.productArity()];
    for (int i = 0; i < fields.length; i++) fields[i] = node.productElement(i);
    return fields;
  }

  /** Options, place and partitions that the session catalog keeps of a table. */
  public static Map storage(DataSourceV2Relation relation) {
    Map found = new HashMap();
    if (relation.identifier().isEmpty()) return found;
    CatalogTable table = tableOf((Identifier) relation.identifier().get());
    if (table == null) return found;
    CatalogStorageFormat storage = table.storage();
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
    if (table.partitionColumnNames().nonEmpty()) {
      found.put("partitionby", json(javaList(table.partitionColumnNames())));
    }
    return found;
  }

  /** What the session catalog knows of a table, or null. */
  public static CatalogTable tableOf(Identifier identifier) {
    if (identifier.namespace().length != 1) return null;
    try {
      return SparkSession.active().sessionState().catalog().getTableMetadata(nameOf(identifier));
    } catch (Exception e) {
      return null;
    }
  }

  public static TableIdentifier nameOf(Identifier identifier) {
    return new TableIdentifier(identifier.name(), scala.Option.apply(identifier.namespace()[0]));
  }

  public static List javaList(scala.collection.Iterable items) {
    List found = new ArrayList();
    scala.collection.Iterator each = items.iterator();
    while (each.hasNext()) found.add(each.next());
    return found;
  }

  public static scala.collection.immutable.List scalaList(List items) {
    scala.collection.mutable.ListBuffer found = new scala.collection.mutable.ListBuffer();
    for (int i = 0; i < items.size(); i++) found.addOne(items.get(i));
    return found.toList();
  }

  public static String json(Object value) {
    try {
      return new ObjectMapper().writeValueAsString(value);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /** Whether a node makes a table of this source, in the session catalog. */
  public static boolean creates(Object node) {
    int place = node instanceof CreateTable || node instanceof ReplaceTable
        || node instanceof CreateTableAsSelect || node instanceof ReplaceTableAsSelect ? 3 : -1;
    if (place < 0) return false;
    Object name = ((TreeNode) node).productElement(0);
    Object spec = ((TreeNode) node).productElement(place);
    return name instanceof ResolvedIdentifier
        && ((ResolvedIdentifier) name).catalog() instanceof V2SessionCatalog
        && spec instanceof TableSpec
        && ((TableSpec) spec).provider().isDefined()
        && NAME.equalsIgnoreCase((String) ((TableSpec) spec).provider().get());
  }

  /** Whether a node saves as a table that another source made; Spark drops it before it fails. */
  public static boolean takesOver(Object node) {
    if (!node.getClass().getSimpleName().equals("SaveAsV1TableCommand")) return false;
    scala.Option provider = ((CatalogTable) ((TreeNode) node).productElement(0)).provider();
    return provider.isDefined() && NAME.equalsIgnoreCase((String) provider.get());
  }

  /** The node with partition columns last; a table that is there is replaced with care. */
  public static TreeNode created(TreeNode node) {
    boolean selects = node instanceof CreateTableAsSelect || node instanceof ReplaceTableAsSelect;
    int partitionsPlace = selects ? 1 : 2;
    int columnsPlace = selects ? 2 : 1;
    Object[] fields = fieldsOf(node);
    List columns = javaList(selects
        ? ((LogicalPlan) fields[columnsPlace]).output()
        : (scala.collection.Iterable) fields[columnsPlace]);
    List transforms = javaList((scala.collection.Iterable) fields[partitionsPlace]);
    if (!transforms.isEmpty()) {
      List ordered = new ArrayList(columns);
      List identities = new ArrayList();
      for (int i = 0; i < transforms.size(); i++) {
        Object column = partitionColumn((Transform) transforms.get(i), columns);
        ordered.remove(column);
        ordered.add(column);
        identities.add(Expressions.identity(quoted(columnName(column))));
      }
      if (ordered.size() == transforms.size()) {
        refuse("PARTITIONED BY names all columns of the table: files would have none");
      }
      if (!ordered.equals(columns)) {
        fields[partitionsPlace] = scalaList(identities);
        fields[columnsPlace] = selects
            ? new Project(scalaList(ordered), (LogicalPlan) fields[columnsPlace])
            : (Object) scalaList(ordered);
        node = node.makeCopy(fields);
      }
    }
    if (node instanceof ReplaceTableAsSelect) {
      CatalogTable table = tableOf(((ResolvedIdentifier) fields[0]).identifier());
      if (table != null && !table.tableType().equals(CatalogTableType.VIEW())) {
        return new ExternalCommandExecutor(new Replacement((ReplaceTableAsSelect) node),
            "replace table", scala.collection.immutable.Map$.MODULE$.empty());
      }
    }
    return node;
  }

  /** The column that a table is partitioned by; what a dataset has no directories for is refused. */
  public static Object partitionColumn(Transform transform, List columns) {
    NamedReference[] references = transform.references();
    if (!"identity".equals(transform.name()) || references.length != 1
        || references[0].fieldNames().length != 1) {
      refuse("a mosaic table cannot have " + transform.describe() + ": leave out CLUSTERED BY, "
          + "CLUSTER BY and bucketBy; PARTITIONED BY (column) and partitionBy(column) make "
          + "directories, and pymosaic.spark.jobs.convert(..., cluster_by=...) sorts");
    }
    String wanted = references[0].fieldNames()[0];
    scala.Function2 resolver = SparkSession.active().sessionState().conf().resolver();
    for (int i = 0; i < columns.size(); i++) {
      boolean same = ((Boolean) resolver.apply(columnName(columns.get(i)), wanted)).booleanValue();
      if (same) return columns.get(i);
    }
    refuse("PARTITIONED BY names a column that the table does not have: " + wanted);
    return null;
  }

  public static String columnName(Object column) {
    return column instanceof ColumnDefinition
        ? ((ColumnDefinition) column).name() : ((Attribute) column).name();
  }

  public static String quoted(String name) { return "`" + name.replace("`", "``") + "`"; }

  /** Replaces a table that exists by the rows of a query; it stays as it is until they are there. */
  public static class Replacement implements ExternalCommandRunner {
    final ReplaceTableAsSelect plan;

    Replacement(ReplaceTableAsSelect plan) { this.plan = plan; }

    public String[] executeCommand(String command, CaseInsensitiveStringMap ignored) {
      SparkSession session = SparkSession.active();
      SessionCatalog catalog = session.sessionState().catalog();
      Object[] fields = fieldsOf(plan);
      ResolvedIdentifier target = (ResolvedIdentifier) fields[0];
      TableIdentifier name = nameOf(target.identifier());
      String suffix = "_" + UUID.randomUUID().toString().replace("-", "");
      ResolvedIdentifier staged = renamed(target, suffix + "_new");
      TableIdentifier old = nameOf(renamed(target, suffix + "_old").identifier());
      String place = placeOf((TableSpec) fields[3], (scala.collection.immutable.Map) fields[4]);
      LogicalPlan query = (LogicalPlan) fields[2];
      if (place != null) checkApart(tableOf(target.identifier()), place);
      if (place == null) {
        run(session, creation(fields, staged, query));
      } else {
        overwrite(session, fields, place);
      }
      session.catalog().uncacheTable(
          quoted(target.identifier().namespace()[0]) + "." + quoted(target.identifier().name()));
      catalog.refreshTable(name);
      catalog.renameTable(name, old);
      boolean done = false;
      try {
        if (place == null) {
          catalog.renameTable(nameOf(staged.identifier()), name);
        } else {
          LogicalPlan nothing = LocalRelation.fromExternalRows(query.output(), scalaList(new ArrayList()));
          run(session, creation(fields, target, nothing));
        }
        done = true;
      } finally {
        if (!done) catalog.renameTable(old, name);
      }
      catalog.dropTable(old, true, false);
      return new String[0];
    }

    /** A managed table takes its directory along when it goes, with whatever is in it by then. */
    static void checkApart(CatalogTable existing, String place) {
      if (existing == null || !existing.tableType().equals(CatalogTableType.MANAGED())) return;
      String own = new Path(existing.location()).toUri().getPath() + "/";
      String wanted = new Path(place).toUri().getPath() + "/";
      if (own.startsWith(wanted) || wanted.startsWith(own)) {
        refuse("the table that is replaced is managed, and its directory " + own + " goes with it: "
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

    static ResolvedIdentifier renamed(ResolvedIdentifier name, String suffix) {
      Object[] fields = fieldsOf(name);
      fields[1] = Identifier.of(name.identifier().namespace(), name.identifier().name() + suffix);
      return (ResolvedIdentifier) name.makeCopy(fields);
    }

    /** Where the new table is to lie, if the user says so. */
    static String placeOf(TableSpec spec, scala.collection.immutable.Map writeOptions) {
      if (spec.location().isDefined()) return (String) spec.location().get();
      String place = javaOptions(spec.options()).get("path");
      return place == null ? javaOptions(writeOptions).get("path") : place;
    }

    /** Writes the rows where the table is to lie; what is there goes when they are published. */
    static void overwrite(SparkSession session, Object[] fields, String place) {
      Map options = new HashMap(javaOptions(((TableSpec) fields[3]).options()));
      options.putAll(javaOptions((scala.collection.immutable.Map) fields[4]));
      List names = new ArrayList();
      List transforms = javaList((scala.collection.Iterable) fields[1]);
      for (int i = 0; i < transforms.size(); i++) {
        names.add(((Transform) transforms.get(i)).references()[0].fieldNames()[0]);
      }
      if (!names.isEmpty()) options.put("partitionby", json(names));
      options.put("partitionoverwritemode", "static");
      options.remove("path");
      Dataset$.MODULE$.ofRows(session, (LogicalPlan) fields[2]).write().format(NAME)
          .mode(SaveMode.Overwrite).options(options).save(place);
    }
  }
}
