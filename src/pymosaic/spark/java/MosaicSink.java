package pymosaic.spark;

import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Streams that are written. Each batch is one job of the dataset, which remembers the last batch of
 * each query: a batch that runs again, after a crash at any moment, changes nothing.
 *
 * Plain old Java and raw types: Janino compiles it on the driver.
 */
public class MosaicSink {
  static final String APPLICATION = "txnappid";
  static final String BATCH = "txnversion";
  // Spark tells the query of a stream to the jobs that it runs.
  private static final String QUERY = "sql.streaming.queryId";

  /** What a path is written by. */
  public static class ToPath implements Sink {
    final Map options;
    final boolean complete;

    ToPath(Map options, OutputMode mode) {
      this.options = options;
      this.complete = mode.equals(OutputMode.Complete());
      if (mode.equals(OutputMode.Update())) {
        Refusal.because("output mode update is not supported by mosaic: files are not updated in "
            + "place; use append or complete, or foreachBatch");
      }
      if (!options.containsKey("path")) {
        Refusal.because("the path is missing: pass it to start(path), or as the option `path`; "
            + "toTable(name) writes a table of the catalog");
      }
      if (options.containsKey(BATCH)) {
        Refusal.because("txnVersion is not for streams: a stream numbers its batches itself");
      }
    }

    public void addBatch(long batch, Dataset data) {
      SparkSession session = SparkSession.active();
      Map all = new HashMap(options);
      if (!all.containsKey(APPLICATION)) {
        all.put(APPLICATION, session.sparkContext().getLocalProperty(QUERY));
      }
      all.put(BATCH, String.valueOf(batch));
      if (complete) all.put("partitionoverwritemode", "static");
      // The plan of the batch must be run as it is, not be planned again.
      Dataset rows = session.internalCreateDataFrame(
          ((org.apache.spark.sql.classic.Dataset) data).queryExecution().toRdd(), data.schema(),
          false);
      MosaicWrites.write(rows, all, complete);
    }

    public String toString() { return "mosaic[" + options.get("path") + "]"; }
  }

  /** What a table of the catalog is written by. */
  public static class ToTable implements StreamingWrite {
    final Map options;
    final boolean complete;
    final LogicalWriteInfo info;
    final String id = UUID.randomUUID().toString();

    ToTable(Map options, boolean complete, LogicalWriteInfo info) {
      this.options = new HashMap(options);
      this.complete = complete;
      this.info = info;
      this.options.put("_stream", id);
      if (!this.options.containsKey(APPLICATION)) this.options.put(APPLICATION, info.queryId());
    }

    public boolean useCommitCoordinator() { return true; }

    /** Spark's own, which executors have. */
    public StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo physical) {
      MosaicProvider.source();
      PythonDataSourceV2 provider = new PythonDataSourceV2();
      provider.setShortName(MosaicSource.NAME);
      Map all = MosaicWrites.withSettings(options, complete);
      SupportsWrite table = (SupportsWrite) provider.getTable(info.schema(), new Transform[0], all);
      WriteBuilder builder = table.newWriteBuilder(
          new Info(info.queryId(), info.schema(), new CaseInsensitiveStringMap(all)));
      if (complete) builder = ((SupportsTruncate) builder).truncate();
      return builder.build().toStreaming().createStreamingWriterFactory(physical);
    }

    public void commit(long batch, WriterCommitMessage[] messages) { end(messages, batch, false); }
    public void abort(long batch, WriterCommitMessage[] messages) { end(messages, batch, true); }

    private void end(WriterCommitMessage[] messages, long batch, boolean abort) {
      byte[] writer = MosaicProvider.source().writerOf(id);
      if (writer != null) MosaicProvider.source().end(writer, messages, abort, Long.valueOf(batch));
    }
  }

  public static class Info implements LogicalWriteInfo {
    final String query;
    final StructType schema;
    final CaseInsensitiveStringMap options;

    Info(String query, StructType schema, CaseInsensitiveStringMap options) {
      this.query = query;
      this.schema = schema;
      this.options = options;
    }

    public String queryId() { return query; }
    public StructType schema() { return schema; }
    public CaseInsensitiveStringMap options() { return options; }
  }
}
