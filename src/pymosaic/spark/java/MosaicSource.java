package pymosaic.spark;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.ToLongBiFunction;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.api.python.PythonFunction;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.DataSourceManager;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceCreationResult;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceReadInfo;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The registered source: what Spark asks of Python on the driver is answered by the driver's own
 * Python process, which has everything imported, instead of by a new process for each kind of
 * question. Where that process does not answer, Spark's own way is taken, which also words errors.
 *
 * Plain old Java and raw types: Janino compiles it on the driver.
 */
public class MosaicSource extends UserDefinedPythonDataSource implements ToLongBiFunction {
  private final transient Function driver;

  public MosaicSource(PythonFunction dataSourceClass, Function driver) {
    super(dataSourceClass);
    this.driver = driver;
  }

  /** Executors do not have this class. */
  public Object writeReplace() {
    return new UserDefinedPythonDataSource(dataSourceCls());
  }

  /** Registers the source. Spark's own registration starts a process that looks for others. */
  public void register(DataSourceManager manager, String name) throws Exception {
    java.lang.reflect.Method builders =
        DataSourceManager.class.getDeclaredMethod("runtimeDataSourceBuilders", new Class[0]);
    builders.setAccessible(true);
    ConcurrentHashMap registered = (ConcurrentHashMap) builders.invoke(manager, new Object[0]);
    registered.put(name, this);
    if (manager.lookupDataSource(name) != this) {
      // Spark 4.0; it would also refuse to copy the session, as caching does.
      registered.remove(name);
      throw new IllegalStateException("this Spark prefers the source that it found by itself");
    }
  }

  /** Starts Python workers of a local session in the background, the way its tasks will. */
  public void startWorkers(String name, int count) {
    PythonDataSourceV2 provider = new PythonDataSourceV2();
    provider.setShortName(name);
    StructType schema = new StructType().add("started", DataTypes.BooleanType);
    CaseInsensitiveStringMap options = new CaseInsensitiveStringMap(
        java.util.Collections.singletonMap("_pushed", "{\"start\": true}"));
    SupportsRead table = (SupportsRead) provider.getTable(schema, new Transform[0], options);
    Batch batch = table.newScanBuilder(options).build().toBatch();
    InputPartition partition = batch.planInputPartitions()[0];
    PartitionReaderFactory factory = batch.createReaderFactory();
    for (int i = 0; i < count; i++) {
      Thread thread = new Thread(new Starter(factory, partition), "start Python worker for mosaic");
      thread.setDaemon(true);
      thread.start();
    }
  }

  /** Reads an empty partition outside of any job, which leaves an idle worker behind. */
  public static class Starter implements Runnable {
    final PartitionReaderFactory factory;
    final InputPartition partition;

    Starter(PartitionReaderFactory factory, InputPartition partition) {
      this.factory = factory;
      this.partition = partition;
    }

    public void run() {
      TaskContextImpl context = TaskContext$.MODULE$.empty();
      TaskContext$.MODULE$.setTaskContext(context);
      try {
        PartitionReader reader = factory.createReader(partition);
        while (reader.next()) continue;
        reader.close();
      } catch (Throwable e) {
        // The session has stopped, or cannot run Python: its queries will tell.
      } finally {
        context.markTaskCompleted(scala.Option.empty());
        TaskContext$.MODULE$.unset();
      }
    }
  }

  public PythonDataSourceCreationResult createDataSourceInPython(
      String name, CaseInsensitiveStringMap options, scala.Option schema) {
    Map question = question("create", options);
    if (schema.isDefined()) question.put("schema", ((StructType) schema.get()).json());
    byte[][] answer = ask(question);
    if (answer == null) return super.createDataSourceInPython(name, options, schema);
    StructType found = schema.isDefined() ? (StructType) schema.get() : unpacked(answer);
    return new PythonDataSourceCreationResult(answer[0], found);
  }

  public PythonDataSourceReadInfo createReadInfoInPython(
      PythonDataSourceCreationResult created, StructType schema, boolean isStreaming) {
    byte[][] answer = null;
    if (!isStreaming) {
      Map question = question("plan", null);
      question.put("source", Base64.getEncoder().encodeToString(created.dataSource()));
      question.put("schema", schema.json());
      answer = ask(question);
    }
    if (answer == null) return super.createReadInfoInPython(created, schema, isStreaming);
    scala.collection.mutable.ListBuffer partitions = new scala.collection.mutable.ListBuffer();
    for (int i = 1; i < answer.length; i++) partitions.addOne(answer[i]);
    return new PythonDataSourceReadInfo(answer[0], partitions.toList());
  }

  /** Rows that a scan reads at most, from metadata alone; -1 where that is not known. */
  public long applyAsLong(Object options, Object schema) {
    Map question = question("count", (CaseInsensitiveStringMap) options);
    question.put("schema", ((StructType) schema).json());
    byte[][] answer = ask(question);
    return answer == null ? -1 : Long.parseLong(text(answer[0]));
  }

  private static Map question(String kind, CaseInsensitiveStringMap options) {
    Map question = new HashMap();
    question.put("kind", kind);
    if (options != null) question.put("options", options.asCaseSensitiveMap());
    return question;
  }

  /** The parts of the answer, or null: no answer, or an error, which Spark's own way will word. */
  private byte[][] ask(Map question) {
    try {
      byte[] answer = (byte[]) driver.apply(new ObjectMapper().writeValueAsString(question));
      DataInputStream input = new DataInputStream(new ByteArrayInputStream(answer));
      int count = input.readInt();
      if (count == 0) return null;
      byte[][] parts = new byte[count][];
      for (int i = 0; i < count; i++) {
        parts[i] = new byte[input.readInt()];
        input.readFully(parts[i]);
      }
      return parts;
    } catch (Exception e) {
      return null;
    }
  }

  /** The schema in an answer: part 1 has a type's number and a name for each column. */
  private static StructType unpacked(byte[][] answer) {
    DataType[] types = new DataType[answer.length - 2];
    for (int i = 0; i < types.length; i++) types[i] = DataType.fromJson(text(answer[i + 2]));
    ByteBuffer columns = ByteBuffer.wrap(answer[1]);
    ArrayList fields = new ArrayList();
    while (columns.hasRemaining()) {
      DataType type = types[columns.getInt()];
      byte[] name = new byte[columns.getInt()];
      columns.get(name);
      fields.add(new StructField(text(name), type, true, Metadata.empty()));
    }
    return new StructType((StructField[]) fields.toArray(new StructField[0]));
  }

  private static String text(byte[] bytes) {
    return new String(bytes, java.nio.charset.StandardCharsets.UTF_8);
  }
}
