package pymosaic.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.UnsupportedFileSystemException;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.catalyst.catalog.CatalogUtils;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.ColumnDefinition;
import org.apache.spark.sql.catalyst.plans.logical.CreateTable;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.OverwritePartitionsDynamic;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTable;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.TableSpec;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.ExternalCommandRunner;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.execution.command.DataWritingCommand$;
import org.apache.spark.sql.execution.command.ExternalCommandExecutor;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation$;
import org.apache.spark.sql.execution.datasources.v2.V2SessionCatalog;
import org.apache.spark.sql.types.AtomicType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.Platform;

/**
 * Optimizer rule for tables of the session catalog: what they are called, and how they are made.
 *
 * - A table in a plan is told what the catalog knows of it; mosaic.`path` becomes a table.
 * - Partition columns of a new table come last, as in Spark's own tables; buckets are refused.
 * - A table that exists is replaced after its new rows were written: Spark itself would drop it
 *   first, also if the query reads it, and lose it if the query fails.
 * - A place that has files is refused by CREATE TABLE … AS, and overwritten by CREATE OR REPLACE.
 *
 * Plain old Java and raw types: Janino compiles it on the driver.
 */
public class MosaicTables extends Rule {

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
      return unnamed(node) != null || isPath(node) || creates(node) || takesOver(node)
          || isDynamic(node) || unnamed(written(node)) != null || MosaicCommands.replaced(node) != null;
    }

    /** A write that cannot be changed is refused: as Spark plans it, it might lose rows. */
    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      try {
        return changed(node, otherwise);
      } catch (RuntimeException e) {
        refuseWrite(node, e);
        throw e;
      } catch (LinkageError e) {
        // Another version of Spark lacks what is called here.
        refuseWrite(node, e);
        throw e;
      }
    }

    private void refuseWrite(Object node, Throwable e) {
      if (creates(node) || written(node) != null) {
        Refusal.because("this table cannot be written safely with this version of Spark: " + e);
      }
    }

    private Object changed(Object node, scala.Function1 otherwise) {
      if (takesOver(node)) {
        Refusal.because("saveAsTable would lose the table that is there, which is of another source: "
            + "use df.writeTo(table).using(\"mosaic\").createOrReplace()");
      }
      if (creates(node)) return created((TreeNode) node);
      if (isPath(node)) return tableOfPath((LogicalRelation) node);
      if (isDynamic(node)) {
        return command(new MosaicWrites.DynamicOverwrite((OverwritePartitionsDynamic) node));
      }
      CatalogTable found = unnamed(node);
      if (found != null) return named((TreeNode) node, found);
      found = unnamed(written(node));
      if (found != null) {
        Object[] fields = Values.fieldsOf((TreeNode) node);
        fields[0] = named((TreeNode) fields[0], found);
        return ((TreeNode) node).makeCopy(fields);
      }
      LogicalPlan command = MosaicCommands.replaced(node);
      return command == null ? otherwise.apply(node) : command;
    }
  }

  /** Whether a node overwrites partitions of a table that has its name. */
  static boolean isDynamic(Object node) {
    return node instanceof OverwritePartitionsDynamic
        && written(node) instanceof DataSourceV2Relation
        && ((DataSourceV2Relation) written(node)).table() instanceof MosaicTable
        && ((MosaicTable) ((DataSourceV2Relation) written(node)).table()).isNamed();
  }

  static LogicalPlan command(ExternalCommandRunner runner) {
    return new ExternalCommandExecutor(runner, MosaicProvider.NAME,
        scala.collection.immutable.Map$.MODULE$.empty());
  }

  /** What a node writes into, which is not among its children; null if it does not write. */
  static Object written(Object node) {
    return node instanceof AppendData || node instanceof OverwriteByExpression
        || node instanceof OverwritePartitionsDynamic ? ((TreeNode) node).productElement(0) : null;
  }

  /** What the catalog knows of the table in a node that has not been told yet; null for other nodes. */
  static CatalogTable unnamed(Object node) {
    boolean relation = node instanceof DataSourceV2Relation;
    if (!relation && !(node instanceof ResolvedTable)) return null;
    Object table = relation ? ((DataSourceV2Relation) node).table() : ((ResolvedTable) node).table();
    if (!(table instanceof MosaicTable) || ((MosaicTable) table).isNamed()) return null;
    if (!relation) return tableOf(((ResolvedTable) node).identifier());
    scala.Option identifier = ((DataSourceV2Relation) node).identifier();
    if (identifier.isEmpty()) return null;
    CatalogTable found = tableOf((Identifier) identifier.get());
    scala.Option catalog = ((DataSourceV2Relation) node).catalog();
    if ((found == null || isOfOthers(found))
        && catalog.isDefined() && catalog.get() instanceof V2SessionCatalog) {
      // Without its files, a table that was dropped would look like an empty one.
      Refusal.because("the table " + identifier.get() + " is not there any more: it was dropped or renamed",
          "TABLE_OR_VIEW_NOT_FOUND", "relationName", identifier.get().toString());
    }
    return found;
  }

  /** Whether a table has become one of another source. */
  private static boolean isOfOthers(CatalogTable table) {
    Object provider = table.provider().isDefined() ? table.provider().get() : MosaicProvider.NAME;
    return !MosaicProvider.NAME.equalsIgnoreCase((String) provider)
        && !MosaicProvider.class.getName().equals(provider);
  }

  static TreeNode named(TreeNode node, CatalogTable found) {
    Object[] fields = Values.fieldsOf(node);
    boolean relation = node instanceof DataSourceV2Relation;
    int place = relation ? 0 : 2;
    MosaicTable table = ((MosaicTable) fields[place]).named(found);
    fields[place] = relation ? table : table.asDeclared();
    return node.makeCopy(fields);
  }

  /** Whether a node reads mosaic.`path`, or a table that another catalog makes a file source. */
  static boolean isPath(Object node) {
    if (!(node instanceof LogicalRelation)) return false;
    Object relation = ((LogicalRelation) node).relation();
    return relation instanceof HadoopFsRelation
        && ((HadoopFsRelation) relation).fileFormat() instanceof MosaicProvider;
  }

  static LogicalPlan tableOfPath(LogicalRelation node) {
    HadoopFsRelation relation = (HadoopFsRelation) node.relation();
    List places = Values.javaList(relation.location().rootPaths());
    for (int i = 0; i < places.size(); i++) places.set(i, places.get(i).toString());
    Map options = Values.options(Values.javaMap(relation.options()), Values.emptyMap());
    options.remove("path");
    if (places.size() == 1) options.put("path", places.get(0));
    else options.put("paths", Values.json(places));
    MosaicTable table = new MosaicTable(relation.schema(), new Transform[0], options,
        node.catalogTable().isDefined() ? (CatalogTable) node.catalogTable().get() : null);
    DataSourceV2Relation made = DataSourceV2Relation$.MODULE$.create(
        table, scala.Option.empty(), scala.Option.empty());
    Object[] fields = Values.fieldsOf(made);
    fields[1] = node.output();
    fields[4] = new CaseInsensitiveStringMap(options);
    return (LogicalPlan) made.makeCopy(fields);
  }

  /** What the session catalog knows of a table; null if it has no such table. */
  static CatalogTable tableOf(Identifier identifier) {
    return identifier.namespace().length == 1 ? tableOf(nameOf(identifier)) : null;
  }

  static CatalogTable tableOf(TableIdentifier name) {
    try {
      SessionCatalog catalog = SparkSession.active().sessionState().catalog();
      return catalog.tableExists(name) ? catalog.getTableMetadata(name) : null;
    } catch (Exception e) {
      Refusal.because("the catalog does not tell about table " + name.unquotedString() + ": " + e);
      return null;
    }
  }

  public static TableIdentifier nameOf(Identifier identifier) {
    return new TableIdentifier(identifier.name(), scala.Option.apply(identifier.namespace()[0]));
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
        && MosaicProvider.NAME.equalsIgnoreCase((String) ((TableSpec) spec).provider().get());
  }

  /** Whether a node saves as a table that another source made; Spark drops it before it fails. */
  public static boolean takesOver(Object node) {
    if (!node.getClass().getSimpleName().equals("SaveAsV1TableCommand")) return false;
    scala.Option provider = ((CatalogTable) ((TreeNode) node).productElement(0)).provider();
    return provider.isDefined() && MosaicProvider.NAME.equalsIgnoreCase((String) provider.get());
  }

  /** The node with partition columns last; a table that is there is replaced with care. */
  public static TreeNode created(TreeNode node) {
    boolean selects = node instanceof CreateTableAsSelect || node instanceof ReplaceTableAsSelect;
    int partitionsPlace = selects ? 1 : 2;
    int columnsPlace = selects ? 2 : 1;
    Object[] fields = Values.fieldsOf(node);
    List columns = Values.javaList(selects
        ? ((LogicalPlan) fields[columnsPlace]).output()
        : (scala.collection.Iterable) fields[columnsPlace]);
    if (selects && columns.isEmpty()) {
      Refusal.because("rows without columns cannot be stored: select at least one column");
    }
    forget(((ResolvedIdentifier) fields[0]).identifier());
    List transforms = Values.javaList((scala.collection.Iterable) fields[partitionsPlace]);
    boolean hasFiles = !selects && transforms.isEmpty() && !columns.isEmpty();
    if (hasFiles) transforms = addKeys(columns, (TableSpec) fields[3]);
    if (!transforms.isEmpty()) {
      List ordered = new ArrayList(columns);
      List identities = new ArrayList();
      for (int i = 0; i < transforms.size(); i++) {
        Object column = partitionColumn((Transform) transforms.get(i), columns);
        ordered.remove(column);
        ordered.add(column);
        identities.add(Expressions.identity(Values.quoted(columnName(column))));
      }
      if (!hasFiles && ordered.size() == transforms.size()) {
        Refusal.because("PARTITIONED BY names all columns of the table: files would have none");
      }
      if (hasFiles || !ordered.equals(columns)) {
        fields[partitionsPlace] = Values.scalaList(identities);
        fields[columnsPlace] = selects
            ? new Project(Values.scalaList(ordered), (LogicalPlan) fields[columnsPlace])
            : (Object) Values.scalaList(ordered);
        node = node.makeCopy(fields);
      }
    }
    CatalogTable table = tableOf(((ResolvedIdentifier) fields[0]).identifier());
    boolean replaces = table != null && !table.tableType().equals(CatalogTableType.VIEW());
    if (node instanceof ReplaceTable) {
      return replaces ? command(new MosaicReplacements.ByNothing((ReplaceTable) node)) : node;
    }
    if (selects) {
      String place = MosaicReplacements.placeOf(
          (TableSpec) fields[3], (scala.collection.immutable.Map) fields[4]);
      if (node instanceof CreateTableAsSelect) {
        if (table == null && place != null) checkEmpty(place, (LogicalPlan) fields[2]);
      } else if (table == null
          ? place != null && ((ReplaceTableAsSelect) node).orCreate() : replaces) {
        return command(new MosaicReplacements.ByQuery((ReplaceTableAsSelect) node));
      }
    }
    return node;
  }

  /**
   * As for Spark's own file sources, a table over files is partitioned by the keys of their
   * directories, also by those that the statement does not declare. These are added to its columns.
   */
  private static List addKeys(List columns, TableSpec spec) {
    List found = new ArrayList();
    String place = MosaicReplacements.placeOf(spec, scala.collection.immutable.Map$.MODULE$.empty());
    if (place == null) return found;
    Map options = Values.options(
        MosaicReplacements.given(spec, scala.collection.immutable.Map$.MODULE$.empty()), Values.emptyMap());
    options.put("path", place);
    CaseInsensitiveStringMap asked = new CaseInsensitiveStringMap(options);
    String[] keys = MosaicProvider.source().inferPartitioning(asked).keys;
    scala.Function2 resolver = SparkSession.active().sessionState().conf().resolver();
    int declared = columns.size();
    for (int i = 0; i < keys.length; i++) {
      String name = null;
      for (int j = 0; j < declared && name == null; j++) {
        String column = columnName(columns.get(j));
        if (((Boolean) resolver.apply(column, keys[i])).booleanValue()) name = column;
      }
      if (name == null) {
        name = keys[i];
        DataType type = MosaicProvider.source().infer(asked).schema.apply(name).dataType();
        columns.add(column((scala.Product) columns.get(0), name, type));
      }
      found.add(Expressions.identity(Values.quoted(name)));
    }
    return found;
  }

  /** A column with nothing but a name and a type, made from another: its other parts vary with Spark. */
  private static Object column(scala.Product other, String name, DataType type) {
    Object[] parts = Values.fieldsOf(other);
    parts[0] = name;
    parts[1] = type;
    parts[2] = Boolean.TRUE;
    for (int i = 3; i < parts.length; i++) {
      if (parts[i] instanceof scala.Option) parts[i] = scala.Option.empty();
      if (parts[i] instanceof Metadata) parts[i] = Metadata.empty();
    }
    return Values.copy(other, parts);
  }

  /**
   * Lets Spark forget a file source of this name. It keeps that of a table which another source lost
   * by an overwrite that failed, and would write the rows of the new table there, in its format.
   */
  static void forget(Identifier identifier) {
    if (identifier.namespace().length != 1) return;
    SparkSession.active().sessionState().catalog().invalidateCachedTable(nameOf(identifier));
  }

  /** Refuses to mix the rows of a query with files that are there, as Spark does for its own formats. */
  static void checkEmpty(String place, LogicalPlan query) {
    if (query instanceof LocalRelation && ((LocalRelation) query).data().isEmpty()) return;
    try {
      DataWritingCommand$.MODULE$.assertEmptyRootPath(CatalogUtils.stringToURI(place),
          SaveMode.ErrorIfExists, SparkSession.active().sessionState().newHadoopConf());
    } catch (Exception e) {
      // A store that Hadoop does not know, but pyarrow or fsspec does.
      if (!(e instanceof UnsupportedFileSystemException)) Refusal.because(e.getMessage());
    }
  }

  /** The column that a table is partitioned by; what a dataset has no directories for is refused. */
  public static Object partitionColumn(Transform transform, List columns) {
    NamedReference[] references = transform.references();
    if (!"identity".equals(transform.name()) || references.length != 1
        || references[0].fieldNames().length != 1) {
      Refusal.because("a mosaic table cannot have " + transform.describe() + ": leave out CLUSTERED BY, "
          + "CLUSTER BY and bucketBy; PARTITIONED BY (column) and partitionBy(column) make "
          + "directories, and pymosaic.spark.jobs.convert(..., cluster_by=...) sorts");
    }
    String wanted = references[0].fieldNames()[0];
    scala.Function2 resolver = SparkSession.active().sessionState().conf().resolver();
    for (int i = 0; i < columns.size(); i++) {
      boolean same = ((Boolean) resolver.apply(columnName(columns.get(i)), wanted)).booleanValue();
      if (!same) continue;
      checkNamesDirectories(wanted, typeOf(columns.get(i)));
      return columns.get(i);
    }
    Refusal.because("PARTITIONED BY names a column that the table does not have: " + wanted);
    return null;
  }

  /** Values of some types cannot name directories: such a table could not be filled. */
  private static void checkNamesDirectories(String column, DataType type) {
    boolean isText = type instanceof StringType;
    if (type instanceof AtomicType && !(type instanceof BinaryType)
        && !(isText && !((StringType) type).isUTF8BinaryCollation())) return;
    Refusal.because("PARTITIONED BY: values of column " + column + " of type " + type.simpleString()
        + " cannot name directories" + (isText ? ", which would compare without the collation" : ""));
  }

  private static DataType typeOf(Object column) {
    return column instanceof ColumnDefinition
        ? ((ColumnDefinition) column).dataType() : ((Attribute) column).dataType();
  }

  public static String columnName(Object column) {
    return column instanceof ColumnDefinition
        ? ((ColumnDefinition) column).name() : ((Attribute) column).name();
  }
}
