package pymosaic.spark;

import java.lang.reflect.Field;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.encoders.RowEncoder$;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.RelationalGroupedDataset;
import org.apache.spark.sql.types.StructType;

/**
 * Aggregates of wide frames without what Spark makes for typed rows.
 *
 * Before it aggregates, Spark makes expressions that turn each column of the frame into a field of an
 * object, for aggregate functions in Scala that take whole objects; those of Python and SQL never use
 * them. With 100,000 columns they take seconds and hundreds of megabytes. Here they are made for a row
 * without fields; the plan stays as it is.
 *
 * Plain old Java and raw types: Janino compiles it on the driver.
 */
public class MosaicFrames {
  /** From how many columns on it is worth while. */
  static final int WIDE = 1000;

  private static boolean isWide(Dataset frame) {
    return frame.queryExecution().analyzed().output().size() >= WIDE;
  }

  /** Has groups of a wide frame forget the types of its rows; otherwise they are slow, and right. */
  public void forgetRows(RelationalGroupedDataset groups) {
    Dataset frame = groups.df();
    if (!isWide(frame)) return;
    try {
      Field field = RelationalGroupedDataset.class.getDeclaredField("df");
      field.setAccessible(true);
      field.set(groups, new Dataset(frame.queryExecution(), RowEncoder$.MODULE$.encoderFor(new StructType())));
    } catch (ReflectiveOperationException e) {
      // Another version of Spark.
    }
  }

  /** The number of rows. */
  public long count(Dataset frame) {
    if (!isWide(frame)) return frame.count();
    RelationalGroupedDataset groups = (RelationalGroupedDataset) frame.groupBy(new Column[0]);
    forgetRows(groups);
    return ((Row) groups.count().collectAsList().get(0)).getLong(0);
  }
}
