package pymosaic.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolveSessionCatalog;
import org.apache.spark.sql.catalyst.analysis.ResolvedFieldPosition;
import org.apache.spark.sql.catalyst.analysis.ResolvedPartitionSpec;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils$;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ShowPartitions;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.ExternalCommandRunner;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.V1Table;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.command.CreateTableLikeCommand;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Commands on tables of the session catalog that Spark has for its own file sources only, or that it
 * would run on the catalog alone although the files stay as they are.
 *
 * Plain old Java and raw types: Janino compiles it on the driver.
 */
public class MosaicCommands {
  // Run, or refused, as for Spark's own file sources. A column that is renamed or dropped in the
  // catalog would keep its name in the files.
  private static final Set AS_FILE_SOURCES = new HashSet(Arrays.asList(new String[] {
      "AnalyzeTable", "AnalyzeColumn", "CreateTableLike", "AlterColumn", "AlterColumns",
      "RenameColumn", "DropColumns", "ReplaceColumns", "DescribeRelationJsonCommand",
      "SetTableSerDeProperties", "DescribeColumn"}));
  private static final Set OWN = new HashSet(Arrays.asList(new String[] {
      "AddColumns", "ShowPartitions", "AlterTableClusterBy"}));
  private static final Set REPAIRS = new HashSet(Arrays.asList(new String[] {
      "RepairTable", "RecoverPartitions"}));

  /** What a command on a table of this source becomes; null where it stays as it is. */
  static LogicalPlan replaced(Object node) {
    if (!(node instanceof LogicalPlan)) return null;
    if (node instanceof CreateTableLikeCommand) return marked((TreeNode) node);
    if (node instanceof DeleteFromTable) return uncached((DeleteFromTable) node);
    String name = node.getClass().getSimpleName();
    boolean asFileSource = AS_FILE_SOURCES.contains(name);
    if (!asFileSource && !OWN.contains(name) && !REPAIRS.contains(name)) return null;
    TreeNode command = (TreeNode) node;
    ResolvedTable resolved = tableOf(command);
    if (resolved == null) return null;
    MosaicTable table = (MosaicTable) resolved.table();
    if (name.equals("AddColumns")) return withPlaces(command, table);
    if (name.equals("AlterTableClusterBy")) {
      // Spark would keep the columns as one more key of the table.
      if (((scala.Option) Values.fieldsOf(command)[1]).isDefined()) {
        Refusal.because("a mosaic table cannot have CLUSTER BY: PARTITIONED BY (column) makes "
            + "directories, and pymosaic.spark.jobs.convert(..., cluster_by=...) sorts");
      }
      return MosaicTables.command(new Nothing());
    }
    if (name.equals("ShowPartitions")) {
      scala.Option some = ((ShowPartitions) node).pattern();
      if (table.keys().length == 0 || some.isDefined() && !(some.get() instanceof ResolvedPartitionSpec)) {
        return null;
      }
      return MosaicTables.command(
          new Shown(table, some.isDefined() ? (ResolvedPartitionSpec) some.get() : null));
    }
    if (REPAIRS.contains(name)) return repaired(table);
    // Sizes and rows of partitions are known from files; the catalog has no list of partitions.
    if (name.equals("AnalyzeTable")
        && !((scala.collection.immutable.Map) Values.fieldsOf(command)[1]).isEmpty()) {
      return MosaicTables.command(new Nothing());
    }
    CatalogTable entry = MosaicTables.tableOf(resolved.identifier());
    if (entry == null) return null;
    Object[] fields = Values.fieldsOf(command);
    if (name.equals("SetTableSerDeProperties")) checkOptions(table.named(entry), fields[2]);
    for (int i = 0; i < fields.length; i++) {
      if (fields[i] == resolved) {
        Object[] parts = Values.fieldsOf(resolved);
        parts[2] = new V1Table(entry);
        fields[i] = resolved.makeCopy(parts);
      }
    }
    ResolveSessionCatalog commands =
        new ResolveSessionCatalog(SparkSession.active().sessionState().catalogManager());
    try {
      return (LogicalPlan) commands.apply((LogicalPlan) command.makeCopy(fields));
    } catch (Throwable e) {
      if (e instanceof VirtualMachineError) throw (VirtualMachineError) e;
      Refusal.because(name.contains("Column")
          ? "ALTER TABLE does not rename, drop or retype columns of a mosaic table, whose files keep "
              + "them: CREATE OR REPLACE TABLE table USING mosaic AS SELECT ... FROM table does"
          : e.getMessage());
      return null;
    }
  }

  /** Options that a table is to get are refused before they make it unreadable. */
  private static void checkOptions(MosaicTable table, Object properties) {
    if (((scala.Option) properties).isEmpty()) return;
    Map options = Values.options(Values.javaMap(
        (scala.collection.immutable.Map) ((scala.Option) properties).get()), Values.emptyMap());
    if (options.containsKey("path") || options.containsKey("paths")) {
      Refusal.because("SERDEPROPERTIES do not move a mosaic table: ALTER TABLE table SET LOCATION does");
    }
    MosaicProvider.source().hasFiles(new CaseInsensitiveStringMap(table.options(options)));
  }

  /** The copy of a table gets the property that Spark's tables have, unless it is of another source. */
  private static LogicalPlan marked(TreeNode command) {
    Object[] fields = Values.fieldsOf(command);
    CatalogTable source = MosaicTables.tableOf((TableIdentifier) fields[1]);
    scala.Option provider = ((scala.Option) fields[3]).isDefined() ? (scala.Option) fields[3]
        : source == null ? scala.Option.empty() : source.provider();
    scala.collection.immutable.Map properties = (scala.collection.immutable.Map) fields[4];
    if (provider.isEmpty() || !MosaicProvider.NAME.equalsIgnoreCase((String) provider.get())
        || properties.contains(MosaicTable.PROVIDER)) return null;
    fields[4] = properties.updated(MosaicTable.PROVIDER, MosaicProvider.NAME);
    return (LogicalPlan) command.makeCopy(fields);
  }

  /** The cached rows of a table take its place in the plan of a command, which needs the table. */
  private static LogicalPlan uncached(DeleteFromTable command) {
    if (!(command.table() instanceof InMemoryRelation)) return null;
    LogicalPlan cached = ((InMemoryRelation) command.table()).cacheBuilder().logicalPlan();
    while (cached instanceof SubqueryAlias) cached = ((SubqueryAlias) cached).child();
    if (!(cached instanceof DataSourceV2Relation)) return null;
    MosaicTable table = MosaicFiles.tableOf((DataSourceV2Relation) cached);
    if (table == null) return null;
    Object[] parts = Values.fieldsOf(cached);
    parts[0] = table;
    parts[1] = command.table().output();
    Object[] fields = Values.fieldsOf(command);
    fields[0] = cached.makeCopy(parts);
    return (LogicalPlan) command.makeCopy(fields);
  }

  private static ResolvedTable tableOf(TreeNode command) {
    scala.collection.Iterator children = command.children().iterator();
    while (children.hasNext()) {
      Object child = children.next();
      if (child instanceof ResolvedTable
          && ((ResolvedTable) child).table() instanceof MosaicTable) return (ResolvedTable) child;
    }
    return null;
  }

  /** New columns come before those that directories make, which stay last. */
  private static LogicalPlan withPlaces(TreeNode command, MosaicTable table) {
    String[] names = table.schema().fieldNames();
    int last = names.length - table.keys().length - 1;
    Object[] fields = Values.fieldsOf(command);
    List columns = Values.javaList((scala.collection.Iterable) fields[1]);
    List placed = new ArrayList();
    String before = names[last];
    boolean changed = false;
    for (int i = 0; i < columns.size(); i++) {
      Object[] parts = Values.fieldsOf((scala.Product) columns.get(i));
      if (!((Boolean) parts[3]).booleanValue()) {
        Refusal.because("ALTER TABLE ADD COLUMN ... NOT NULL: existing rows have NULL in column "
            + parts[1] + "; leave out NOT NULL");
      }
      if (((scala.Option) parts[6]).isDefined()) {
        Refusal.because("ALTER TABLE ADD COLUMN ... DEFAULT would change rows that are in files: add "
            + "the column without DEFAULT, then ALTER TABLE table ALTER COLUMN " + parts[1]
            + " SET DEFAULT ... for rows to come");
      }
      if (((scala.Option) parts[5]).isEmpty()) {
        parts[5] = scala.Option.apply(
            new ResolvedFieldPosition(TableChange.ColumnPosition.after(before)));
        changed = true;
      } else if (!isAfter(parts[5], before)) {
        Refusal.because("ALTER TABLE ADD COLUMN puts new columns of a mosaic table behind the others: "
            + "leave out FIRST and AFTER");
      }
      before = (String) parts[1];
      placed.add(Values.copy(columns.get(i), parts));
    }
    if (!changed) return null;
    fields[1] = Values.scalaList(placed);
    return (LogicalPlan) command.makeCopy(fields);
  }

  /** Whether a place is the one that a column gets anyway; the rule has been here before. */
  private static boolean isAfter(Object place, String before) {
    Object position = ((scala.Option) place).get();
    return position instanceof ResolvedFieldPosition
        && ((ResolvedFieldPosition) position).position()
            .equals(TableChange.ColumnPosition.after(before));
  }

  /** Partitions are found by their files at every query: there is nothing to repair. */
  private static LogicalPlan repaired(MosaicTable table) {
    if (table.keys().length == 0) {
      Refusal.because("MSCK REPAIR TABLE: the table is not partitioned");
    }
    return MosaicTables.command(new Nothing());
  }

  /** Partitions by the names of directories: Spark would show NULL as if it were a text. */
  public static class Shown implements ExternalCommandRunner {
    private final MosaicTable table;
    private final ResolvedPartitionSpec some;

    Shown(MosaicTable table, ResolvedPartitionSpec some) {
      this.table = table;
      this.some = some;
    }

    public String[] executeCommand(String command, CaseInsensitiveStringMap ignored) {
      String[] names = some == null ? new String[0]
          : (String[]) Values.javaList(some.names()).toArray(new String[0]);
      InternalRow[] rows =
          table.listPartitionIdentifiers(names, some == null ? InternalRow.empty() : some.ident());
      String[] found = new String[rows.length];
      for (int i = 0; i < rows.length; i++) found[i] = directory(rows[i]);
      Arrays.sort(found);
      return found;
    }

    private String directory(InternalRow row) {
      scala.Option zone =
          scala.Option.apply(SparkSession.active().sessionState().conf().sessionLocalTimeZone());
      StructField[] fields = table.partitionSchema().fields();
      StringBuilder text = new StringBuilder();
      for (int i = 0; i < fields.length; i++) {
        Object value = row.isNullAt(i) ? null : Cast$.MODULE$.apply(
            new Literal(row.get(i, fields[i].dataType()), fields[i].dataType()),
            DataTypes.StringType, zone, false).eval(null);
        text.append(i == 0 ? "" : "/").append(ExternalCatalogUtils$.MODULE$.getPartitionPathString(
            fields[i].name(), value == null ? null : value.toString()));
      }
      return text.toString();
    }
  }

  public static class Nothing implements ExternalCommandRunner {
    public String[] executeCommand(String command, CaseInsensitiveStringMap ignored) {
      return new String[0];
    }
  }
}
