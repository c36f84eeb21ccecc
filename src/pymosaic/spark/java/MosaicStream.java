package pymosaic.spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadAllAvailable;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * A dataset read as a stream. Python keeps the positions, beside Spark's own logs of the query, and
 * says which files are between two of them; these are read as those of any other scan are.
 *
 * Plain old Java and raw types: Janino compiles it on the driver.
 */
public class MosaicStream implements MicroBatchStream, SupportsTriggerAvailableNow {
  final MosaicScans.MosaicScan scan;
  final String checkpoint;
  final String id;
  private Batch batch;

  MosaicStream(MosaicScans.MosaicScan scan, String checkpoint, String id) {
    this.scan = scan;
    this.checkpoint = checkpoint;
    this.id = id == null ? UUID.randomUUID().toString() : id;
  }

  public static class Position extends Offset {
    final long number;

    Position(long number) { this.number = number; }
    public String json() { return "{\"position\":" + number + "}"; }
  }

  public Offset initialOffset() { return new Position(0); }

  public Offset deserializeOffset(String json) {
    try {
      Map parsed = (Map) Values.JSON.readValue(json, Map.class);
      return new Position(((Number) parsed.get("position")).longValue());
    } catch (Exception e) {
      throw new IllegalArgumentException("not a position of a mosaic stream: " + json);
    }
  }

  public Offset latestOffset() {
    throw new UnsupportedOperationException("latestOffset(start, limit) is called instead");
  }

  public Offset latestOffset(Offset start, ReadLimit limit) {
    Map question = question("next", start, start);
    question.put("all", Boolean.valueOf(limit instanceof ReadAllAvailable));
    return new Position(Long.parseLong(ask(question)));
  }

  /** Python knows the limits; this only tells whether there are any. */
  public ReadLimit getDefaultReadLimit() {
    boolean limited = scan.options.containsKey("maxfilespertrigger")
        || scan.options.containsKey("maxbytespertrigger");
    return limited ? ReadLimit.maxFiles(Integer.MAX_VALUE) : ReadLimit.allAvailable();
  }

  public void prepareForTriggerAvailableNow() {
    ask(question("prepare", new Position(0), new Position(0)));
  }

  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    String state = ask(question("files", start, end));
    if (state.equals("")) {
      batch = null;
      return new InputPartition[0];
    }
    Map options = new HashMap(scan.options);
    options.put("_state", state);
    batch = new MosaicScans.MosaicScan(scan.table, scan.schema, options).toBatch();
    return batch.planInputPartitions();
  }

  public PartitionReaderFactory createReaderFactory() {
    return batch == null ? null : batch.createReaderFactory();
  }

  public void commit(Offset end) { ask(question("commit", end, end)); }
  public void stop() { }

  private Map question(String asked, Offset start, Offset end) {
    Map question = new HashMap();
    question.put("asked", asked);
    question.put("stream", id);
    question.put("checkpoint", checkpoint);
    question.put("start", Long.valueOf(((Position) start).number));
    question.put("end", Long.valueOf(((Position) end).number));
    return question;
  }

  private String ask(Map question) { return MosaicProvider.source().stream(scan.options, question); }

  /** The same stream, of which a query needs less: Spark counts its rows as this one's. */
  public boolean equals(Object other) {
    return other instanceof MosaicStream && id.equals(((MosaicStream) other).id);
  }
  public int hashCode() { return id.hashCode(); }
  public String toString() { return "mosaic[" + scan.options.get("path") + "]"; }

  /** What a plan shows of a stream; it has no statistics, which would be those of all files. */
  public static class StreamScan implements Scan {
    final MosaicScans.MosaicScan scan;

    StreamScan(MosaicScans.MosaicScan scan) { this.scan = scan; }
    public StructType readSchema() { return scan.schema; }
    public Scan.ColumnarSupportMode columnarSupportMode() { return Scan.ColumnarSupportMode.UNSUPPORTED; }
    public String description() {
      return "mosaic stream, columns: " + scan.schema.catalogString() + ", pushed: " + scan.pushed();
    }
  }

  /** Optimizer rule: streams read the columns and row groups that a query needs. */
  public static class Narrowing extends Rule {
    public TreeNode apply(TreeNode plan) {
      return MosaicTables.transformed(plan, new Change(repeated((LogicalPlan) plan)));
    }
  }

  /**
   * The streams that a query reads in several places. They stay whole: Spark takes scans of the same
   * stream for the same rows, and would read one for all, whatever their columns are.
   */
  private static Set repeated(LogicalPlan plan) {
    Set once = new HashSet();
    Set found = new HashSet();
    List leaves = Values.javaList(plan.collectLeaves());
    for (int i = 0; i < leaves.size(); i++) {
      if (!(leaves.get(i) instanceof StreamingDataSourceV2ScanRelation)) continue;
      Object stream = ((StreamingDataSourceV2ScanRelation) leaves.get(i)).stream();
      if (stream instanceof MosaicStream && !once.add(stream)) found.add(stream);
    }
    return found;
  }

  public static class Extension extends scala.runtime.AbstractFunction1 {
    public Object apply(Object extensions) {
      ((SparkSessionExtensions) extensions).injectOptimizerRule(new RuleBuilder());
      return scala.runtime.BoxedUnit.UNIT;
    }
  }

  public static class RuleBuilder extends scala.runtime.AbstractFunction1 {
    public Object apply(Object session) { return new Narrowing(); }
  }

  public static class Change extends scala.runtime.AbstractPartialFunction {
    final Set whole;

    Change(Set whole) { this.whole = whole; }

    public boolean isDefinedAt(Object node) { return changed(node, whole) != null; }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      Object changed = changed(node, whole);
      return changed == null ? otherwise.apply(node) : changed;
    }
  }

  /** A node with a narrower stream below it, or null; some streams stay whole. */
  private static LogicalPlan changed(Object node, Set whole) {
    if (node instanceof StreamingDataSourceV2ScanRelation) {
      StreamingDataSourceV2ScanRelation relation = (StreamingDataSourceV2ScanRelation) node;
      boolean isPlain = relation.stream() instanceof MosaicStream
          && relation.scan() instanceof MosaicScans.MosaicScan;
      return isPlain ? with(relation, ((MosaicStream) relation.stream()).scan) : null;
    }
    if (!(node instanceof Project)) return null;
    Set names = new HashSet();
    List conditions = new ArrayList();
    LogicalPlan below = (LogicalPlan) node;
    while (below instanceof Project && below == node || below instanceof Filter) {
      scala.collection.Iterator each = below.references().iterator();
      while (each.hasNext()) names.add(((Attribute) each.next()).name());
      if (below instanceof Filter) split(((Filter) below).condition(), conditions);
      below = (LogicalPlan) below.children().apply(0);
    }
    if (!(below instanceof StreamingDataSourceV2ScanRelation)) return null;
    StreamingDataSourceV2ScanRelation relation = (StreamingDataSourceV2ScanRelation) below;
    if (!(relation.stream() instanceof MosaicStream) || whole.contains(relation.stream())) return null;
    MosaicScans.MosaicScan before = ((MosaicStream) relation.stream()).scan;
    List fields = new ArrayList();
    for (int i = 0; i < before.schema.length(); i++) {
      if (names.contains(before.schema.fields()[i].name())) fields.add(before.schema.fields()[i]);
    }
    MosaicScans.Builder builder = new MosaicScans.Builder(before.table, withoutPushed(before.options));
    builder.pruneColumns(new StructType((StructField[]) fields.toArray(new StructField[0])));
    builder.pushFilters(Values.scalaList(conditions));
    MosaicScans.MosaicScan after = (MosaicScans.MosaicScan) builder.build();
    if (after.equals(before)) return null;
    return replaced((LogicalPlan) node, with(relation, after));
  }

  private static Map withoutPushed(Map options) {
    Map found = new HashMap(options);
    found.remove("_pushed");
    return found;
  }

  private static void split(Expression condition, List found) {
    if (condition instanceof And) {
      split(((And) condition).left(), found);
      split(((And) condition).right(), found);
    } else {
      found.add(condition);
    }
  }

  /** A relation that reads what a scan does. */
  private static LogicalPlan with(
      StreamingDataSourceV2ScanRelation relation, MosaicScans.MosaicScan scan) {
    MosaicStream stream = (MosaicStream) relation.stream();
    Map attributes = new HashMap();
    scala.collection.Iterator each = relation.output().iterator();
    while (each.hasNext()) {
      Attribute attribute = (Attribute) each.next();
      attributes.put(attribute.name(), attribute);
    }
    List output = new ArrayList();
    String[] names = scan.schema.fieldNames();
    for (int i = 0; i < names.length; i++) output.add(attributes.get(names[i]));
    Object[] fields = Values.fieldsOf(relation);
    fields[1] = new StreamScan(scan);
    fields[2] = Values.scalaList(output);
    fields[3] = new MosaicStream(scan, stream.checkpoint, stream.id);
    return (LogicalPlan) relation.makeCopy(fields);
  }

  /** A chain of nodes with another leaf. */
  private static LogicalPlan replaced(LogicalPlan node, LogicalPlan leaf) {
    if (node instanceof StreamingDataSourceV2ScanRelation) return leaf;
    List children = new ArrayList();
    children.add(replaced((LogicalPlan) node.children().apply(0), leaf));
    return (LogicalPlan) node.withNewChildren(Values.scalaList(children));
  }
}
