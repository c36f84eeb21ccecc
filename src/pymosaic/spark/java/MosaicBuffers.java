package pymosaic.spark;

import java.math.BigInteger;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.array.ByteArrayMethods;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Columns in the making, with the buffers that Arrow has for them, and numbers of distinct values.
 *
 * Executors have these classes, too. Plain old Java and raw types: Janino compiles it on the driver.
 */
public class MosaicBuffers {
  private static final int LEAST = 64;
  private static final long MIX = 0x9E3779B97F4A7C15L;

  /** Room for more, of arrays that double; the size is checked, as it may come from long values. */
  static int roomFor(long needed) {
    if (needed > ByteArrayMethods.MAX_ROUNDED_ARRAY_LENGTH) {
      throw new IllegalStateException("values of one batch of long rows take more than 2 GB");
    }
    return (int) Math.min(Math.max(LEAST, 2 * needed), ByteArrayMethods.MAX_ROUNDED_ARRAY_LENGTH);
  }

  static byte[] grown(byte[] data, long needed) {
    return needed <= data.length ? data : Arrays.copyOf(data, roomFor(needed));
  }

  static int[] grown(int[] data, long needed) {
    return needed <= data.length ? data : Arrays.copyOf(data, roomFor(needed));
  }

  static long[] grown(long[] data, long needed) {
    return needed <= data.length ? data : Arrays.copyOf(data, roomFor(needed));
  }

  /** A message: numbers of 64 bits, then buffers, each with its size before it and padded to 8 bytes. */
  public static class Output {
    private byte[] data = new byte[1 << 12];
    private int size;

    void number(long value) {
      data = grown(data, size + 8L);
      Platform.putLong(data, Platform.BYTE_ARRAY_OFFSET + size, value);
      size += 8;
    }

    void buffer(Object base, long offset, long length) {
      number(length);
      data = grown(data, size + length + 7);
      Platform.copyMemory(base, offset, data, Platform.BYTE_ARRAY_OFFSET + size, length);
      size += (int) length;
      while (size % 8 != 0) data[size++] = 0;
    }

    void bytes(byte[] buffer, int length) { buffer(buffer, Platform.BYTE_ARRAY_OFFSET, length); }
    void ints(int[] buffer, int length) { buffer(buffer, Platform.INT_ARRAY_OFFSET, 4L * length); }
    void longs(long[] buffer, int length) { buffer(buffer, Platform.LONG_ARRAY_OFFSET, 8L * length); }

    /** Numbers below a limit, of 16 bits if it allows that, else of 32. */
    void codes(int[] codes, int length, int limit) {
      if (limit > 1 << 16) {
        ints(codes, length);
        return;
      }
      number(2L * length);
      data = grown(data, size + 2L * length + 7);
      long at = Platform.BYTE_ARRAY_OFFSET + size;
      for (int row = 0; row < length; row++) Platform.putShort(data, at + 2L * row, (short) codes[row]);
      size += 2 * length;
      while (size % 8 != 0) data[size++] = 0;
    }

    byte[] finish() {
      byte[] found = Arrays.copyOf(data, size);
      size = 0;
      return found;
    }
  }

  /** Reads what Output has written. */
  public static class Input {
    final byte[] data;
    private int at;
    /** Where the last buffer starts. */
    int start;

    Input(byte[] data) { this.data = data; }

    long number() {
      long value = Platform.getLong(data, Platform.BYTE_ARRAY_OFFSET + at);
      at += 8;
      return value;
    }

    int buffer() {
      int length = (int) number();
      start = at;
      at += ByteArrayMethods.roundNumberOfBytesToNearestWord(length);
      return length;
    }

    long longAt(int place) { return Platform.getLong(data, Platform.BYTE_ARRAY_OFFSET + start + 8L * place); }
    int intAt(int place) { return Platform.getInt(data, Platform.BYTE_ARRAY_OFFSET + start + 4L * place); }
  }

  /** The values of a column, row by row. Rows of Spark are used again: what is kept is copied. */
  public abstract static class Column {
    private byte[] valid = new byte[LEAST];
    int nulls;

    static Column of(DataType type) {
      if (type instanceof BooleanType) return new Bits();
      if (type instanceof ByteType) return new Bytes();
      if (type instanceof ShortType) return new Shorts();
      if (type instanceof IntegerType || type instanceof DateType) return new Ints();
      if (type instanceof FloatType) return new Floats();
      if (type instanceof DoubleType) return new Doubles();
      if (type instanceof DecimalType) return new Decimals((DecimalType) type);
      if (type instanceof StringType) return new Texts(true);
      if (type instanceof BinaryType) return new Texts(false);
      if (type.defaultSize() != 8) throw new IllegalArgumentException(type.sql());
      return new Longs();
    }

    /** Adds a value, and returns how many bytes it takes beyond a fixed number. */
    int add(InternalRow row, int ordinal, int at) {
      if ((at & 7) == 0) {
        valid = grown(valid, (at >> 3) + 1L);
        valid[at >> 3] = 0;
      }
      boolean isNull = row.isNullAt(ordinal);
      if (isNull) nulls++;
      else valid[at >> 3] |= 1 << (at & 7);
      return put(row, ordinal, at, isNull);
    }

    boolean isValid(int at) { return (valid[at >> 3] >> (at & 7) & 1) != 0; }

    void write(Output output, int rows) {
      output.bytes(valid, nulls == 0 ? 0 : (rows + 7) / 8);
      writeValues(output, rows);
      nulls = 0;
    }

    abstract int put(InternalRow row, int ordinal, int at, boolean isNull);
    abstract void writeValues(Output output, int rows);
  }

  /** Values of a fixed width; a null is zero. */
  public abstract static class Fixed extends Column {
    private final int width;
    byte[] data = new byte[8 * LEAST];

    Fixed(int width) { this.width = width; }

    /** Where a value goes. */
    long place(int at) {
      data = grown(data, (at + 1L) * width);
      return Platform.BYTE_ARRAY_OFFSET + (long) at * width;
    }

    void writeValues(Output output, int rows) { output.bytes(data, rows * width); }
  }

  public static class Longs extends Fixed {
    Longs() { super(8); }
    int put(InternalRow row, int ordinal, int at, boolean isNull) {
      long place = place(at);
      Platform.putLong(data, place, isNull ? 0L : row.getLong(ordinal));
      return 0;
    }
  }

  public static class Ints extends Fixed {
    Ints() { super(4); }
    int put(InternalRow row, int ordinal, int at, boolean isNull) {
      long place = place(at);
      Platform.putInt(data, place, isNull ? 0 : row.getInt(ordinal));
      return 0;
    }
  }

  public static class Doubles extends Fixed {
    Doubles() { super(8); }
    int put(InternalRow row, int ordinal, int at, boolean isNull) {
      long place = place(at);
      Platform.putDouble(data, place, isNull ? 0.0 : row.getDouble(ordinal));
      return 0;
    }
  }

  public static class Floats extends Fixed {
    Floats() { super(4); }
    int put(InternalRow row, int ordinal, int at, boolean isNull) {
      long place = place(at);
      Platform.putFloat(data, place, isNull ? 0.0f : row.getFloat(ordinal));
      return 0;
    }
  }

  public static class Shorts extends Fixed {
    Shorts() { super(2); }
    int put(InternalRow row, int ordinal, int at, boolean isNull) {
      long place = place(at);
      Platform.putShort(data, place, isNull ? (short) 0 : row.getShort(ordinal));
      return 0;
    }
  }

  public static class Bytes extends Fixed {
    Bytes() { super(1); }
    int put(InternalRow row, int ordinal, int at, boolean isNull) {
      long place = place(at);
      Platform.putByte(data, place, isNull ? (byte) 0 : row.getByte(ordinal));
      return 0;
    }
  }

  public static class Decimals extends Fixed {
    private final int precision;
    private final int scale;

    Decimals(DecimalType type) {
      super(16);
      this.precision = type.precision();
      this.scale = type.scale();
    }

    int put(InternalRow row, int ordinal, int at, boolean isNull) {
      long place = place(at);
      long low = 0;
      long high = 0;
      if (!isNull) {
        Decimal value = row.getDecimal(ordinal, precision, scale);
        if (precision <= Decimal.MAX_LONG_DIGITS()) {
          low = value.toUnscaledLong();
          high = low >> 63;
        } else {
          BigInteger number = value.toJavaBigDecimal().unscaledValue();
          low = number.longValue();
          high = number.shiftRight(64).longValue();
        }
      }
      Platform.putLong(data, place, low);
      Platform.putLong(data, place + 8, high);
      return 0;
    }
  }

  public static class Bits extends Column {
    private byte[] data = new byte[LEAST];

    int put(InternalRow row, int ordinal, int at, boolean isNull) {
      if ((at & 7) == 0) {
        data = grown(data, (at >> 3) + 1L);
        data[at >> 3] = 0;
      }
      if (!isNull && row.getBoolean(ordinal)) data[at >> 3] |= 1 << (at & 7);
      return 0;
    }

    void writeValues(Output output, int rows) { output.bytes(data, (rows + 7) / 8); }
  }

  /** Strings and binaries. */
  public static class Texts extends Column {
    private int[] ends = new int[LEAST];
    private byte[] data = new byte[8 * LEAST];
    private final boolean isString;

    Texts(boolean isString) { this.isString = isString; }

    int put(InternalRow row, int ordinal, int at, boolean isNull) {
      int start = ends[at];
      int size = 0;
      if (!isNull) {
        Object base;
        long offset;
        if (isString) {
          UTF8String text = row.getUTF8String(ordinal);
          base = text.getBaseObject();
          offset = text.getBaseOffset();
          size = text.numBytes();
        } else {
          byte[] bytes = row.getBinary(ordinal);
          base = bytes;
          offset = Platform.BYTE_ARRAY_OFFSET;
          size = bytes.length;
        }
        data = grown(data, (long) start + size);
        Platform.copyMemory(base, offset, data, Platform.BYTE_ARRAY_OFFSET + start, size);
      }
      ends = grown(ends, at + 2L);
      ends[at + 1] = start + size;
      return size;
    }

    void writeValues(Output output, int rows) {
      output.ints(ends, rows + 1);
      output.bytes(data, ends[rows]);
    }
  }

  /** Distinct sequences of bytes, numbered in the order in which they come. */
  public static class Numbers {
    private byte[] data = new byte[1 << 12];
    // Where each value starts, which is a multiple of 8, and its size in the lower 32 bits.
    private long[] places = new long[LEAST];
    // By hash, which is in the upper 32 bits: a number and one; 0 is a free place.
    private long[] table = new long[4 * LEAST];
    private int last = -1;
    private int count;
    private int end;

    int count() { return count; }

    /** Has a row show a value, which must be one. */
    void point(UnsafeRow row, int number) {
      row.pointTo(data, Platform.BYTE_ARRAY_OFFSET + start(number), size(number));
    }

    private int start(int number) { return (int) (places[number] >>> 32); }
    private int size(int number) { return (int) places[number]; }

    /** The number of a value, which is a new one if it has not been here before. */
    int numberOf(Object base, long offset, int size) {
      // Rows of one entity often follow each other.
      if (last >= 0 && isAt(last, base, offset, size)) return last;
      int hash = hashOf(base, offset, size);
      int mask = table.length - 1;
      int place = hash & mask;
      while (table[place] != 0) {
        int found = (int) table[place] - 1;
        if ((int) (table[place] >>> 32) == hash && isAt(found, base, offset, size)) return last = found;
        place = place + 1 & mask;
      }
      places = grown(places, count + 1L);
      data = grown(data, (long) end + size + 7);
      Platform.copyMemory(base, offset, data, Platform.BYTE_ARRAY_OFFSET + end, size);
      places[count] = (long) end << 32 | size;
      end += ByteArrayMethods.roundNumberOfBytesToNearestWord(size);
      last = count++;
      table[place] = (long) hash << 32 | count;
      if (2 * count > table.length) rehash();
      return last;
    }

    /** A hash of words of 8 bytes, the last of which may overlap the one before it. */
    private static int hashOf(Object base, long offset, int size) {
      long hash = size;
      for (int i = 0; i + 8 < size; i += 8) hash = mixed(hash ^ Platform.getLong(base, offset + i));
      return (int) mixed(hash ^ lastWord(base, offset, size));
    }

    private static long mixed(long value) {
      long product = value * MIX;
      return product ^ product >>> 32;
    }

    private static long lastWord(Object base, long offset, int size) {
      if (size >= 8) return Platform.getLong(base, offset + size - 8);
      long word = 0;
      for (int i = 0; i < size; i++) word = word << 8 | Platform.getByte(base, offset + i) & 0xFF;
      return word;
    }

    private boolean isAt(int number, Object base, long offset, int size) {
      long place = places[number];
      if ((int) place != size) return false;
      long known = Platform.BYTE_ARRAY_OFFSET + (place >>> 32);
      if (lastWord(base, offset, size) != lastWord(data, known, size)) return false;
      for (int i = 0; i + 8 < size; i += 8) {
        if (Platform.getLong(base, offset + i) != Platform.getLong(data, known + i)) return false;
      }
      return true;
    }

    private void rehash() {
      if (table.length >= 1 << 29) throw new IllegalStateException("too many distinct values");
      long[] before = table;
      table = new long[2 * before.length];
      int mask = table.length - 1;
      for (int i = 0; i < before.length; i++) {
        if (before[i] == 0) continue;
        int place = (int) (before[i] >>> 32) & mask;
        while (table[place] != 0) place = place + 1 & mask;
        table[place] = before[i];
      }
    }

    void clear() {
      Arrays.fill(table, 0L);
      count = 0;
      end = 0;
      last = -1;
    }

    /** Writes values of these numbers as an array of strings: offsets and bytes. */
    void write(Output output, int[] numbers, int length) {
      int[] ends = new int[length + 1];
      for (int i = 0; i < length; i++) ends[i + 1] = Math.addExact(ends[i], size(numbers[i]));
      byte[] joined = new byte[ends[length]];
      for (int i = 0; i < length; i++) {
        System.arraycopy(data, start(numbers[i]), joined, ends[i], size(numbers[i]));
      }
      output.ints(ends, length + 1);
      output.bytes(joined, joined.length);
    }
  }
}
