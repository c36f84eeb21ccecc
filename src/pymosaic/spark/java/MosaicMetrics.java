package pymosaic.spark;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomSumMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/** What Spark's pages show of a scan: the driver tells it when it has planned. */
public class MosaicMetrics {
  public static class FilesRead extends CustomSumMetric {
    public String name() { return "mosaicFilesRead"; }
    public String description() { return "files read"; }
  }

  public static class FilesSkipped extends CustomSumMetric {
    public String name() { return "mosaicFilesSkipped"; }
    public String description() { return "files skipped"; }
  }

  public static class RowGroupsRead extends CustomSumMetric {
    public String name() { return "mosaicRowGroupsRead"; }
    public String description() { return "row groups read"; }
  }

  public static class RowGroupsSkipped extends CustomSumMetric {
    public String name() { return "mosaicRowGroupsSkipped"; }
    public String description() { return "row groups skipped"; }
  }

  public static class BytesRead extends CustomSumMetric {
    public String name() { return "mosaicBytesRead"; }
    public String description() { return "compressed bytes read"; }
  }

  static CustomMetric[] all() {
    return new CustomMetric[] {new FilesRead(), new FilesSkipped(), new RowGroupsRead(),
        new RowGroupsSkipped(), new BytesRead()};
  }

  /** The values of all, as a report tells them. */
  static CustomTaskMetric[] of(Map report) {
    CustomMetric[] metrics = all();
    long[] values = {part(report, "files", 0), skipped(report, "files"),
        part(report, "rowGroups", 0), skipped(report, "rowGroups"), part(report, "bytes", 0)};
    CustomTaskMetric[] found = new CustomTaskMetric[values.length];
    for (int i = 0; i < found.length; i++) found[i] = new Value(metrics[i].name(), values[i]);
    return found;
  }

  /** Of what is read (0) or there (1). */
  static long part(Map report, String key, int place) {
    return ((Number) ((List) report.get(key)).get(place)).longValue();
  }

  private static long skipped(Map report, String key) {
    return part(report, key, 1) - part(report, key, 0);
  }

  public static class Value implements CustomTaskMetric {
    final String name;
    final long value;

    Value(String name, long value) {
      this.name = name;
      this.value = value;
    }

    public String name() { return name; }
    public long value() { return value; }
  }
}
