package pymosaic.spark;

import java.io.Serializable;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.Partition;
import org.apache.spark.Partitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.api.java.function.PairFlatMapFunction;
import org.apache.spark.rdd.PartitionCoalescer;
import org.apache.spark.rdd.PartitionGroup;
import org.apache.spark.rdd.RDD;
import org.apache.spark.rdd.ShuffledRDD;
import org.apache.spark.serializer.KryoSerializer;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Murmur3Hash;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection$;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.ColumnarToRowExec;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.InputAdapter;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.WholeStageCodegenExec;
import org.apache.spark.sql.execution.datasources.parquet.ParquetDictionary;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Long rows packed into payloads and shuffled, without a step for each row but reading it.
 *
 * Tasks that read rows put them into columns of a payload for each slot. A shuffle, whose files Spark
 * keeps, has a partition for each slot and a last one for what the tasks counted. That one is read
 * first; then tasks for any divisor of the slots read the others. See payloads.py for the layout.
 *
 * Rows are what Spark computes. Where it only reads columns of files, in batches, rows are taken from
 * the batches, and the names of features are looked up once for each entry of a file's dictionary.
 *
 * Executors have these classes, too. Plain old Java and raw types: Janino compiles it on the driver.
 */
public class MosaicPacker {
  private final Dataset frame;
  private final int slots;
  private final int values;
  private final JavaPairRDD shuffled;

  /** Rows are keys, the name of a feature, and values. */
  public MosaicPacker(Dataset frame, int keys, int slots, long limit) {
    StructType schema = frame.schema();
    DataType[] types = new DataType[schema.size()];
    int[] places = new int[types.length];
    for (int i = 0; i < types.length; i++) {
      types[i] = schema.apply(i).dataType();
      places[i] = i;
    }
    RDD rows = batches(frame.queryExecution().executedPlan(), places);
    if (rows == null) rows = frame.queryExecution().toRdd();
    this.frame = frame;
    this.slots = slots;
    this.values = types.length - keys - 1;
    SparkContext context = frame.sparkSession().sparkContext();
    this.shuffled = rows.toJavaRDD().mapPartitionsToPair(new Pack(types, places, keys, slots, limit))
        .partitionBy(new BySlot(slots + 1));
    // Java's own serializer would hold many payloads, in case that they are written again.
    ((ShuffledRDD) shuffled.rdd()).setSerializer(new KryoSerializer(context.conf()));
  }

  /**
   * The batches of a scan of files by Spark, and the places of columns in them, if a plan has nothing
   * else; otherwise null.
   */
  private static RDD batches(SparkPlan plan, int[] places) {
    if (plan instanceof WholeStageCodegenExec) plan = ((WholeStageCodegenExec) plan).child();
    List columns = Values.javaList(plan.output());
    if (plan instanceof ProjectExec) {
      columns = Values.javaList(((ProjectExec) plan).projectList());
      plan = ((ProjectExec) plan).child();
    }
    if (!(plan instanceof ColumnarToRowExec)) return null;
    plan = ((ColumnarToRowExec) plan).child();
    if (plan instanceof InputAdapter) plan = ((InputAdapter) plan).child();
    if (!(plan instanceof FileSourceScanExec)) return null;
    List read = Values.javaList(plan.output());
    int[] found = new int[places.length];
    for (int i = 0; i < found.length; i++) {
      Object column = columns.get(i);
      if (column instanceof Alias) column = ((Alias) column).child();
      if (!(column instanceof AttributeReference)) return null;
      found[i] = -1;
      for (int j = 0; j < read.size(); j++) {
        if (((Attribute) read.get(j)).exprId().equals(((AttributeReference) column).exprId())) found[i] = j;
      }
      if (found[i] < 0) return null;
    }
    System.arraycopy(found, 0, places, 0, found.length);
    return plan.executeColumnar();
  }

  /** What all tasks counted, as one message. */
  public byte[] counts() {
    List found = chosen(new Slots(new int[][] {{slots}})).mapPartitions(new Unite(values)).collect();
    return (byte[]) found.get(0);
  }

  /** The payloads of all slots for a number of tasks, which must divide that of the slots. */
  public Dataset payloads(int tasks) {
    int[][] groups = new int[tasks][slots / tasks];
    for (int slot = 0; slot < slots; slot++) groups[slot % tasks][slot / tasks] = slot;
    StructType schema = new StructType().add("payload", DataTypes.BinaryType, false);
    RDD rows = chosen(new Slots(groups)).map(new ToRow()).rdd();
    return frame.sparkSession().internalCreateDataFrame(rows, schema, false);
  }

  /** Lets Spark delete the files of the shuffle. */
  public void release() {
    SparkContext context = frame.sparkSession().sparkContext();
    ShuffleDependency shuffle = (ShuffleDependency) shuffled.rdd().dependencies().apply(0);
    if (context.cleaner().isDefined()) {
      ((org.apache.spark.ContextCleaner) context.cleaner().get())
          .doCleanupShuffle(shuffle.shuffleId(), false);
    }
  }

  private JavaRDD chosen(Slots wanted) {
    RDD rows = shuffled.values().rdd();
    return rows.coalesce(wanted.groups.length, false, scala.Option.apply(wanted), null).toJavaRDD();
  }

  public static class BySlot extends Partitioner {
    private final int count;

    BySlot(int count) { this.count = count; }

    public int numPartitions() { return count; }
    public int getPartition(Object key) { return ((Integer) key).intValue(); }
  }

  /** Which partitions of the shuffle go to which task. */
  public static class Slots implements PartitionCoalescer, Serializable {
    final int[][] groups;

    Slots(int[][] groups) { this.groups = groups; }

    public PartitionGroup[] coalesce(int most, RDD parent) {
      Partition[] partitions = parent.partitions();
      PartitionGroup[] found = new PartitionGroup[groups.length];
      for (int i = 0; i < groups.length; i++) {
        found[i] = new PartitionGroup(scala.Option.empty());
        for (int j = 0; j < groups[i].length; j++) found[i].partitions().addOne(partitions[groups[i][j]]);
      }
      return found;
    }
  }

  public static class ToRow implements Function {
    public Object call(Object payload) { return new GenericInternalRow(new Object[] {payload}); }
  }

  public static class Pack implements PairFlatMapFunction {
    private final DataType[] types;
    private final int[] places;
    private final int keys;
    private final int slots;
    private final long limit;

    Pack(DataType[] types, int[] places, int keys, int slots, long limit) {
      this.types = types;
      this.places = places;
      this.keys = keys;
      this.slots = slots;
      this.limit = limit;
    }

    public Iterator call(Object rows) {
      return new Packing((Iterator) rows, types, places, keys, slots, limit);
    }
  }

  /** References to columns at some places. */
  static scala.collection.immutable.Seq references(DataType[] types, int[] places, int count) {
    List found = new ArrayList();
    for (int i = 0; i < count; i++) found.add(new BoundReference(places[i], types[i], true));
    return Values.scalaList(found);
  }

  /** The rows of one slot. */
  public static class Slot {
    final MosaicBuffers.Column[] values;
    int[] entity = new int[64];
    int[] feature = new int[64];
    int rows;

    Slot(DataType[] types, int first) {
      values = new MosaicBuffers.Column[types.length - first];
      for (int i = 0; i < values.length; i++) values[i] = MosaicBuffers.Column.of(types[first + i]);
    }
  }

  /** Numbers of some of many things, in the order in which they come. */
  public static class Chosen {
    private int[] chosen = new int[64];
    // Of all, the number among the chosen and one, or 0.
    private int[] places = new int[64];
    int count;

    void expect(int limit) { places = MosaicBuffers.grown(places, limit); }

    int numberOf(int which) {
      if (places[which] == 0) {
        chosen = MosaicBuffers.grown(chosen, count + 1L);
        chosen[count++] = which;
        places[which] = count;
      }
      return places[which] - 1;
    }

    void clear() {
      for (int i = 0; i < count; i++) places[chosen[i]] = 0;
      count = 0;
    }
  }

  /** The payloads of a task with their slots, and at last what it counted, with the slot after all. */
  public static class Packing implements Iterator {
    private final Iterator given;
    private final DataType[] types;
    private final int keys;
    private final int[] places;
    private final Slot[] slots;
    private final long limit;
    private final int fixedBytes;
    private final UnsafeProjection toKey;
    private final Murmur3Hash hash;
    private final Counts counts;
    private final MosaicBuffers.Output output = new MosaicBuffers.Output();
    // Entities of the rows that are held, their slots, and a row that points to one.
    private final MosaicBuffers.Numbers entities = new MosaicBuffers.Numbers();
    private int[] slotOf = new int[64];
    private final UnsafeRow key;
    private final Chosen ofSlot = new Chosen();
    private final Chosen named = new Chosen();
    private final Names names;
    // The batch that rows are taken from, and the next of them.
    private ColumnarBatch batch;
    private int at;
    // The next slot to write, of those that have rows.
    private int next;
    private boolean isDone;

    Packing(Iterator given, DataType[] types, int[] places, int keys, int slots, long limit) {
      this.given = given;
      this.types = types;
      this.keys = keys;
      this.places = places;
      this.slots = new Slot[slots];
      this.limit = limit;
      this.key = new UnsafeRow(keys);
      this.toKey = (UnsafeProjection) UnsafeProjection$.MODULE$.create(references(types, places, keys));
      int[] inKey = new int[keys];
      for (int i = 0; i < keys; i++) inKey[i] = i;
      // As repartition(slots, keys) distributes rows.
      this.hash = new Murmur3Hash(references(types, inKey, keys), 42);
      this.counts = new Counts(types.length - keys - 1);
      this.names = new Names(counts.names, places[keys]);
      this.next = slots;
      int size = 4;
      for (int i = keys + 1; i < types.length; i++) size += types[i].defaultSize();
      this.fixedBytes = size;
    }

    public boolean hasNext() {
      seek();
      while (next == slots.length && (batch != null || given.hasNext())) {
        fill();
        next = 0;
        seek();
        if (next == slots.length) entities.clear();
      }
      return next < slots.length || !isDone;
    }

    public Object next() {
      if (!hasNext()) throw new NoSuchElementException();
      if (next < slots.length) {
        byte[] payload = written(slots[next]);
        slots[next] = null;  // what the largest rows of each slot took would be too much together
        counts.bytes += payload.length;
        Integer slot = Integer.valueOf(next++);
        seek();
        if (next == slots.length) entities.clear();
        return new scala.Tuple2(slot, payload);
      }
      isDone = true;
      return new scala.Tuple2(Integer.valueOf(slots.length), counts.write(output));
    }

    public void remove() { throw new UnsupportedOperationException(); }

    private void seek() {
      while (next < slots.length && (slots[next] == null || slots[next].rows == 0)) next++;
    }

    /** Reads rows until their columns take as much as they may. */
    private void fill() {
      long size = 0;
      while (size < limit) {
        if (batch == null) {
          if (!given.hasNext()) return;
          Object found = given.next();
          if (found instanceof ColumnarBatch) {
            batch = (ColumnarBatch) found;
            at = 0;
            names.startBatch(batch);
          } else {
            size += add((InternalRow) found, names.ofRow((InternalRow) found));
          }
        } else {
          int count = batch.numRows();
          while (at < count && size < limit) {
            size += add(batch.getRow(at), names.ofBatch(at));
            at++;
          }
          if (at == count) batch = null;
        }
      }
    }

    private int add(InternalRow row, int feature) {
      if (feature < 0) {
        counts.nameless++;  // the driver refuses them
        return 0;
      }
      int size = fixedBytes;
      UnsafeRow key = toKey.apply(row);
      int known = entities.count();
      int entity = entities.numberOf(key.getBaseObject(), key.getBaseOffset(), key.getSizeInBytes());
      if (entity == known) {
        size += key.getSizeInBytes();
        slotOf = MosaicBuffers.grown(slotOf, entity + 1L);
        slotOf[entity] = Math.floorMod(((Integer) hash.eval(key)).intValue(), slots.length);
      }
      Slot slot = slots[slotOf[entity]];
      if (slot == null) slot = slots[slotOf[entity]] = new Slot(types, keys + 1);
      int place = slot.rows++;
      if (place == slot.entity.length) {
        slot.entity = MosaicBuffers.grown(slot.entity, place + 1L);
        slot.feature = MosaicBuffers.grown(slot.feature, place + 1L);
      }
      slot.entity[place] = entity;
      slot.feature[place] = feature;
      for (int i = 0; i < slot.values.length; i++) {
        size += slot.values[i].add(row, places[keys + 1 + i], place);
      }
      return size;
    }

    private byte[] written(Slot slot) {
      ofSlot.expect(entities.count());
      named.expect(counts.names.count());
      for (int row = 0; row < slot.rows; row++) {
        counts.add(slot.feature[row], slot.values, row);
        slot.entity[row] = ofSlot.numberOf(slot.entity[row]);
        slot.feature[row] = named.numberOf(slot.feature[row]);
      }
      output.number(ofSlot.count);
      output.number(named.count);
      output.number(slot.rows);
      for (int i = 0; i < keys; i++) {
        MosaicBuffers.Column column = MosaicBuffers.Column.of(types[i]);
        for (int entity = 0; entity < ofSlot.count; entity++) {
          entities.point(key, ofSlot.chosen[entity]);
          column.add(key, i, entity);
        }
        column.write(output, ofSlot.count);
      }
      output.bytes(new byte[0], 0);
      counts.names.write(output, named.chosen, named.count);
      output.codes(slot.entity, slot.rows, ofSlot.count);
      output.codes(slot.feature, slot.rows, named.count);
      for (int i = 0; i < slot.values.length; i++) slot.values[i].write(output, slot.rows);
      ofSlot.clear();
      named.clear();
      slot.rows = 0;
      return output.finish();
    }
  }

  /** Numbers of the names of features in rows, -1 for none. */
  public static class Names {
    private final MosaicBuffers.Numbers numbers;
    private final int place;
    private ColumnVector vector;
    // Of a column with a dictionary: its entries' numbers and one, or 0 if not looked up.
    private Object dictionary;
    private WritableColumnVector entries;
    private int[] known = new int[64];

    Names(MosaicBuffers.Numbers numbers, int place) {
      this.numbers = numbers;
      this.place = place;
    }

    int ofRow(InternalRow row) {
      return row.isNullAt(place) ? -1 : numberOf(row.getUTF8String(place));
    }

    private int numberOf(UTF8String name) {
      return numbers.numberOf(name.getBaseObject(), name.getBaseOffset(), name.numBytes());
    }

    void startBatch(ColumnarBatch batch) {
      vector = batch.column(place);
      entries = null;
      Object found = dictionaryOf(vector);
      if (found == null) return;
      if (found != dictionary) Arrays.fill(known, 0);
      dictionary = found;
      entries = ((WritableColumnVector) vector).getDictionaryIds();
    }

    int ofBatch(int row) {
      if (vector.isNullAt(row)) return -1;
      if (entries == null) return numberOf(vector.getUTF8String(row));
      int entry = entries.getDictId(row);
      known = MosaicBuffers.grown(known, entry + 1L);
      if (known[entry] == 0) known[entry] = numberOf(vector.getUTF8String(row)) + 1;
      return known[entry] - 1;
    }

    /** The dictionary of a column, or null if it has none, or this Spark hides it. */
    private static Object dictionaryOf(ColumnVector vector) {
      if (!(vector instanceof WritableColumnVector)) return null;
      if (OF_COLUMN == null || !((WritableColumnVector) vector).hasDictionary()) return null;
      try {
        Object found = OF_COLUMN.get(vector);
        // Each batch has a new one around that of the file.
        return found instanceof ParquetDictionary && OF_FILE != null ? OF_FILE.get(found) : found;
      } catch (IllegalAccessException e) {
        return null;
      }
    }

    private static final Field OF_COLUMN = field(WritableColumnVector.class);
    private static final Field OF_FILE = field(ParquetDictionary.class);

    private static Field field(Class owner) {
      try {
        Field found = owner.getDeclaredField("dictionary");
        found.setAccessible(true);
        return found;
      } catch (ReflectiveOperationException e) {
        return null;
      }
    }
  }

  /** The features that were met, and how many rows and values of each column each has. */
  public static class Counts {
    final MosaicBuffers.Numbers names = new MosaicBuffers.Numbers();
    long nameless;
    long bytes;
    private long[] rows = new long[64];
    private final long[][] values;

    Counts(int values) { this.values = new long[values][64]; }

    private void makeRoom(int name) {
      if (name < rows.length) return;
      rows = MosaicBuffers.grown(rows, name + 1L);
      for (int i = 0; i < values.length; i++) values[i] = MosaicBuffers.grown(values[i], name + 1L);
    }

    void add(int name, MosaicBuffers.Column[] columns, int row) {
      makeRoom(name);
      rows[name]++;
      for (int i = 0; i < columns.length; i++) {
        if (columns[i].nulls == 0 || columns[i].isValid(row)) values[i][name]++;
      }
    }

    byte[] write(MosaicBuffers.Output output) {
      int count = names.count();
      if (count > 0) makeRoom(count - 1);
      int[] all = new int[count];
      for (int i = 0; i < count; i++) all[i] = i;
      output.number(nameless);
      output.number(bytes);
      output.number(count);
      output.bytes(new byte[0], 0);
      names.write(output, all, count);
      output.longs(rows, count);
      for (int i = 0; i < values.length; i++) output.longs(values[i], count);
      return output.finish();
    }

    void add(byte[] message) {
      MosaicBuffers.Input input = new MosaicBuffers.Input(message);
      nameless += input.number();
      bytes += input.number();
      int count = (int) input.number();
      input.buffer();
      input.buffer();
      int[] ends = new int[count + 1];
      for (int i = 0; i <= count; i++) ends[i] = input.intAt(i);
      input.buffer();
      int[] numbers = new int[count];
      for (int i = 0; i < count; i++) {
        numbers[i] = names.numberOf(
            message, Platform.BYTE_ARRAY_OFFSET + input.start + ends[i], ends[i + 1] - ends[i]);
        makeRoom(numbers[i]);
      }
      input.buffer();
      for (int i = 0; i < count; i++) rows[numbers[i]] += input.longAt(i);
      for (int place = 0; place < values.length; place++) {
        input.buffer();
        for (int i = 0; i < count; i++) values[place][numbers[i]] += input.longAt(i);
      }
    }
  }

  /** One message of all. */
  public static class Unite implements FlatMapFunction {
    private final int values;

    Unite(int values) { this.values = values; }

    public Iterator call(Object messages) {
      Counts counts = new Counts(values);
      Iterator each = (Iterator) messages;
      while (each.hasNext()) counts.add((byte[]) each.next());
      List found = new ArrayList();
      found.add(counts.write(new MosaicBuffers.Output()));
      return found.iterator();
    }
  }
}
