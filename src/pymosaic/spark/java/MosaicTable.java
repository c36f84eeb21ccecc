package pymosaic.spark;

import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.NoSuchPartitionException;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.connector.catalog.SupportsAtomicPartitionManagement;
import org.apache.spark.sql.connector.catalog.SupportsDeleteV2;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A dataset as Spark's table: a path, or a table of the session catalog.
 *
 * Spark makes the table of the catalog without telling its name; MosaicTables adds what the catalog
 * knows of it (`named`) when a plan is optimized, before the table is read or written.
 *
 * Plain old Java and raw types: Janino compiles it on the driver.
 */
public class MosaicTable
    implements SupportsRead, SupportsWrite, SupportsDeleteV2,
        SupportsAtomicPartitionManagement, SupportsMetadataColumns {
  /** The property that the session catalog keeps of all tables that Spark makes. */
  static final String PROVIDER = "provider";
  private final StructType schema;
  private final Transform[] partitioning;
  private final Map given;
  private final CatalogTable entry;
  private String state;
  // What the catalog knows of a table that spark.catalog.getTable asks for its properties.
  private volatile CatalogTable described;

  MosaicTable(StructType schema, Transform[] partitioning, Map given, CatalogTable entry) {
    this(schema, partitioning, given, entry, null);
  }

  MosaicTable(StructType schema, Transform[] partitioning, Map given, CatalogTable entry,
      String state) {
    this.schema = schema;
    this.partitioning = partitioning;
    this.given = given;
    this.entry = entry;
    this.state = state;
  }

  MosaicTable named(CatalogTable known) {
    return new MosaicTable(schema, partitioning, given, known);
  }

  /** The table for commands, which show CHAR and VARCHAR; queries have strings. */
  MosaicTable asDeclared() {
    return new MosaicTable(CharVarcharUtils.getRawSchema(schema), partitioning, given, entry);
  }

  /**
   * The files that a query with these options reads: of a path, those that were there when it was
   * loaded; of a table of the catalog, those that are there when the query is planned.
   */
  synchronized String state(Map options) {
    if (state != null) return state;
    String found = MosaicStates.ofQuery(options);
    if (entry == null) state = found;
    return found;
  }

  /** Has the next query of a path read the files that are there then. */
  synchronized void forgetFiles() { state = null; }

  public MetadataColumn[] metadataColumns() {
    return new MetadataColumn[] {new FileMetadata()};
  }

  /** Where a row comes from, as Spark's own file sources tell it. */
  public static class FileMetadata implements MetadataColumn {
    public String name() { return "_metadata"; }
    public boolean isNullable() { return false; }
    public String comment() { return "the file of a row, and its place there"; }
    public DataType dataType() {
      return new StructType()
          .add("file_path", DataTypes.StringType, false)
          .add("file_name", DataTypes.StringType, false)
          .add("file_size", DataTypes.LongType, false)
          .add("file_block_start", DataTypes.LongType, false)
          .add("file_block_length", DataTypes.LongType, false)
          .add("file_modification_time", DataTypes.TimestampType, false)
          .add("row_index", DataTypes.LongType, false);
    }
  }

  boolean isNamed() { return entry != null; }
  void describe(CatalogTable known) { described = known; }

  public String name() {
    return entry == null ? MosaicProvider.NAME : entry.identifier().unquotedString();
  }
  public StructType schema() { return schema; }
  public Transform[] partitioning() { return partitioning; }

  public Set capabilities() {
    Set found = new HashSet();
    found.add(TableCapability.BATCH_READ);
    found.add(TableCapability.MICRO_BATCH_READ);
    found.add(TableCapability.V1_BATCH_WRITE);
    found.add(TableCapability.TRUNCATE);
    found.add(TableCapability.OVERWRITE_BY_FILTER);
    found.add(TableCapability.OVERWRITE_DYNAMIC);
    // Spark asks for it before a dynamic overwrite, which MosaicTables then makes one of V1. With it,
    // `df.write.save` would have two modes; Spark does not give a path this property.
    if (given.containsKey(PROVIDER)) found.add(TableCapability.BATCH_WRITE);
    // A stream into a path is made by MosaicSink.ToPath, which knows partitionBy.
    if (given.containsKey(PROVIDER)) found.add(TableCapability.STREAMING_WRITE);
    return found;
  }

  /** The names of the columns that directories make. */
  String[] keys() {
    String[] found = new String[partitioning.length];
    for (int i = 0; i < found.length; i++) found[i] = partitioning[i].references()[0].fieldNames()[0];
    return found;
  }

  /** What a query of this table goes by: options of the table, then those of the query. */
  Map options(Map ofQuery) {
    if (entry == null && !given.containsKey(PROVIDER)) return Values.options(given, ofQuery);
    if (entry == null) return Values.options(ofStream(), ofQuery);
    Map found = Values.options(Values.javaMap(entry.storage().properties()), Values.emptyMap());
    found.remove("serialization.format");
    found.put("_table", "true");
    if (!found.containsKey("path") && entry.storage().locationUri().isDefined()) {
      found.put("path", new Path((URI) entry.storage().locationUri().get()).toString());
    }
    if (partitioning.length > 0) found.put("partitionby", Values.json(keys()));
    // A query does not move a table: its rows would come from, or go to, another place.
    Map asked = Values.options(ofQuery, Values.emptyMap());
    asked.remove("path");
    asked.remove("paths");
    asked.remove("basepath");
    return Values.options(found, asked);
  }

  /** Options of a table that no rule has named, as those of streams: Spark mixes them with properties. */
  private Map ofStream() {
    Map all = Values.options(given, Values.emptyMap());
    Map found = new HashMap();
    Iterator names = all.keySet().iterator();
    while (names.hasNext()) {
      String name = (String) names.next();
      if (name.equals("path") || all.containsKey("option." + name)) found.put(name, all.get(name));
    }
    found.put("_table", "true");
    if (partitioning.length > 0) found.put("partitionby", Values.json(keys()));
    return found;
  }

  /** What DESCRIBE EXTENDED and SHOW CREATE TABLE tell. */
  public Map properties() {
    Map found = new HashMap();
    CatalogTable entry = this.entry == null ? described : this.entry;
    if (entry == null) {
      found.put("provider", MosaicProvider.NAME);
      return found;
    }
    found.putAll(Values.javaMap(entry.properties()));
    found.put("provider", MosaicProvider.NAME);
    found.put("owner", entry.owner());
    if (entry.comment().isDefined()) found.put("comment", entry.comment().get());
    if (entry.storage().locationUri().isDefined()) {
      found.put("location", entry.storage().locationUri().get().toString());
    }
    if (entry.tableType().equals(CatalogTableType.EXTERNAL())) found.put("external", "true");
    else found.put("is_managed_location", "true");
    Map options = Values.javaMap(entry.storage().properties());
    Iterator each = options.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry option = (Map.Entry) each.next();
      if (!option.getKey().equals("serialization.format")) {
        found.put("option." + option.getKey(), option.getValue());
      }
    }
    return found;
  }

  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return MosaicScans.builder(this, options(options.asCaseSensitiveMap()));
  }

  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return new MosaicWrites.Builder(this, info, options(info.options().asCaseSensitiveMap()));
  }

  /** Whole partitions are deleted, without reading a row. */
  public boolean canDeleteWhere(Predicate[] predicates) {
    if (!MosaicWrites.selectsPartitions(this, predicates)) {
      Refusal.because("DELETE removes whole partitions of a mosaic table, by conditions on "
          + (partitioning.length == 0 ? "partition columns, of which it has none"
              : String.join(", ", keys()))
          + "; for single rows: INSERT OVERWRITE table SELECT * FROM table WHERE NOT (condition)");
    }
    return true;
  }

  public void deleteWhere(Predicate[] predicates) {
    MosaicProvider.source().remove(
        new CaseInsensitiveStringMap(options(Values.emptyMap())),
        MosaicWrites.condition(predicates), partitionSchema());
  }

  public boolean truncateTable() {
    deleteWhere(new Predicate[0]);
    return true;
  }

  public StructType partitionSchema() {
    String[] keys = keys();
    StructField[] found = new StructField[keys.length];
    for (int i = 0; i < keys.length; i++) found[i] = schema.apply(keys[i]);
    return CharVarcharUtils.replaceCharVarcharWithStringInSchema(new StructType(found));
  }

  public InternalRow[] listPartitionIdentifiers(String[] names, InternalRow identifier) {
    InternalRow[] all = MosaicProvider.source().partitions(
        new CaseInsensitiveStringMap(options(Values.emptyMap())), partitionSchema());
    List found = new ArrayList();
    for (int i = 0; i < all.length; i++) {
      boolean same = true;
      for (int j = 0; j < names.length && same; j++) {
        int place = partitionSchema().fieldIndex(names[j]);
        org.apache.spark.sql.types.DataType type = partitionSchema().fields()[place].dataType();
        Object wanted = identifier.isNullAt(j) ? null : identifier.get(j, type);
        Object value = all[i].isNullAt(place) ? null : all[i].get(place, type);
        same = wanted == null ? value == null : wanted.equals(value);
      }
      if (same) found.add(all[i]);
    }
    return (InternalRow[]) found.toArray(new InternalRow[0]);
  }

  /** A directory without files cannot be told from none. */
  public void createPartitions(InternalRow[] identifiers, Map[] properties) {
    for (int i = 0; i < properties.length; i++) {
      if (properties[i].get("location") != null) {
        Refusal.because("partitions of a mosaic table lie in its directory: write the rows with "
            + "INSERT INTO table PARTITION (...) SELECT ...");
      }
    }
  }

  public void createPartition(InternalRow identifier, Map properties) {
    createPartitions(new InternalRow[] {identifier}, new Map[] {properties});
  }

  public boolean dropPartitions(InternalRow[] identifiers) {
    for (int i = 0; i < identifiers.length; i++) if (!partitionExists(identifiers[i])) return false;
    return truncatePartitions(identifiers);
  }

  public boolean dropPartition(InternalRow identifier) {
    return dropPartitions(new InternalRow[] {identifier});
  }

  /** Files have no trash to pass by: those that are replaced are kept for queries that read them. */
  public boolean purgePartitions(InternalRow[] identifiers) { return dropPartitions(identifiers); }
  public boolean purgePartition(InternalRow identifier) { return dropPartition(identifier); }

  public boolean renamePartition(InternalRow from, InternalRow to) {
    Refusal.because("partitions of a mosaic table are not renamed: INSERT INTO table PARTITION (new) "
        + "SELECT ... FROM table WHERE old, then ALTER TABLE table DROP PARTITION (old)");
    return false;
  }

  public boolean truncatePartition(InternalRow identifier) throws NoSuchPartitionException {
    if (!partitionExists(identifier)) {
      throw new NoSuchPartitionException(name(), identifier, partitionSchema());
    }
    return truncatePartitions(new InternalRow[] {identifier});
  }

  /** Removes partitions, all in one job of the dataset. */
  public boolean truncatePartitions(InternalRow[] identifiers) {
    MosaicProvider.source().remove(
        new CaseInsensitiveStringMap(options(Values.emptyMap())),
        MosaicWrites.condition(partitionSchema(), identifiers), partitionSchema());
    return true;
  }

  public void replacePartitionMetadata(InternalRow identifier, Map properties) {
    throw new UnsupportedOperationException("partitions of a mosaic table have no properties");
  }

  public Map loadPartitionMetadata(InternalRow identifier) { return new HashMap(); }

  public boolean equals(Object other) {
    if (!(other instanceof MosaicTable)) return false;
    MosaicTable table = (MosaicTable) other;
    return schema.equals(table.schema) && given.equals(table.given)
        && java.util.Arrays.equals(keys(), table.keys())
        && (entry == null) == (table.entry == null)
        && (entry == null ? java.util.Objects.equals(state, table.state)
            : entry.identifier().equals(table.entry.identifier()));
  }
  public int hashCode() { return given.hashCode(); }
}
