package pymosaic.spark;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.api.python.PythonFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.execution.datasources.DataSourceManager;
import org.apache.spark.sql.execution.datasources.PartitioningUtils$;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceCreationResult;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceReadInfo;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceWriteInfo;
import org.apache.spark.sql.execution.datasources.v2.python.PythonWriterCommitMessage;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Spark's source in Python, which does the reading and writing for MosaicTable. What Spark asks of
 * Python on the driver is answered by the driver's own Python process, which has everything imported,
 * instead of by a new process for each kind of question. Its errors are what users are told.
 *
 * Plain old Java and raw types: Janino compiles it on the driver.
 */
public class MosaicSource extends UserDefinedPythonDataSource {
  /** Its name in Spark's registry of Python sources; MosaicProvider has the one that users type. */
  public static final String NAME = "mosaic-python";
  /** The option by which a write that was prepared is found. */
  static final String PREPARED = "_prepared";
  private static final String[] SETTINGS = {
    "spark.sql.files.ignoreCorruptFiles",
    "spark.sql.files.ignoreMissingFiles",
    "spark.sql.files.maxPartitionBytes",
    "spark.sql.session.timeZone",
    "spark.sql.caseSensitive",
    "spark.sql.sources.partitionColumnTypeInference.enabled",
    "spark.sql.timestampType"
  };
  private final transient Function driver;
  // Of batches of streams into tables, between the start of their tasks and their end.
  private final transient Map writers = new ConcurrentHashMap();
  // Writes that Python has accepted and Spark has not planned yet.
  private final transient Map prepared = new ConcurrentHashMap();

  public MosaicSource(PythonFunction dataSourceClass, Function driver) {
    super(dataSourceClass);
    this.driver = driver;
  }

  /** Executors do not have this class. */
  public Object writeReplace() {
    return new UserDefinedPythonDataSource(dataSourceCls());
  }

  /** Makes this the source of all sessions, and starts with the active one. */
  public void install() {
    MosaicProvider.install(this);
    MosaicProvider.source();
  }

  /** Registers the source in the active session, without the process in which Spark looks for others. */
  public void registerOnce() {
    try {
      DataSourceManager manager = SparkSession.active().sessionState().dataSourceManager();
      java.lang.reflect.Method builders =
          DataSourceManager.class.getDeclaredMethod("runtimeDataSourceBuilders", new Class[0]);
      builders.setAccessible(true);
      ConcurrentHashMap registered = (ConcurrentHashMap) builders.invoke(manager, new Object[0]);
      if (registered.get(NAME) != this) registered.put(NAME, this);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Starts Python workers of a local session in the background, the way its tasks will. */
  public void startWorkers(int count) {
    PythonDataSourceV2 provider = new PythonDataSourceV2();
    provider.setShortName(NAME);
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
    byte[][] answer = ask(question);
    StructType found = schema.isDefined() ? (StructType) schema.get() : infer(options).schema;
    return new PythonDataSourceCreationResult(answer[0], found);
  }

  public PythonDataSourceReadInfo createReadInfoInPython(
      PythonDataSourceCreationResult created, StructType schema, boolean isStreaming) {
    Map question = question("plan", null);
    question.put("source", Base64.getEncoder().encodeToString(created.dataSource()));
    question.put("schema", schema.json());
    byte[][] answer = ask(question);
    scala.collection.mutable.ListBuffer partitions = new scala.collection.mutable.ListBuffer();
    for (int i = 1; i < answer.length; i++) partitions.addOne(answer[i]);
    return new PythonDataSourceReadInfo(answer[0], partitions.toList());
  }

  /**
   * Has Python check and begin a write before Spark plans its query, so that a mistake is told at once.
   * The answer goes into the options, by which Spark's own call finds what was begun.
   */
  String prepare(StructType schema, Map options, boolean overwrite) {
    String id = java.util.UUID.randomUUID().toString();
    CaseInsensitiveStringMap given = new CaseInsensitiveStringMap(options);
    prepared.put(id, createWriteInfoInPython(NAME, schema, given, overwrite, false));
    return id;
  }

  /** Undoes a write that Spark could not plan. */
  void abandon(String id) {
    PythonDataSourceWriteInfo unused = (PythonDataSourceWriteInfo) prepared.remove(id);
    if (unused != null) end(unused.writer(), new WriterCommitMessage[0], true, null);
  }

  public PythonDataSourceWriteInfo createWriteInfoInPython(String name, StructType schema,
      CaseInsensitiveStringMap options, boolean overwrite, boolean isStreaming) {
    String id = options.get(PREPARED);
    Object found = id == null ? null : prepared.remove(id);
    if (found != null) return (PythonDataSourceWriteInfo) found;
    Map question = question("write", options);
    question.put("schema", schema.json());
    question.put("overwrite", Boolean.valueOf(overwrite));
    question.put("message", UserDefinedPythonDataSource$.MODULE$.writeOutputSchema().json());
    byte[][] answer = ask(question);
    String stream = options.get("_stream");
    if (stream != null) writers.put(stream, answer[1]);
    return new PythonDataSourceWriteInfo(answer[0], answer[1]);
  }

  /** The writer of a stream's batch, which is forgotten; null if the batch has written nothing. */
  byte[] writerOf(String stream) { return (byte[]) writers.remove(stream); }

  public void commitWriteInPython(byte[] writer, WriterCommitMessage[] messages, boolean abort) {
    end(writer, messages, abort, null);
  }

  /** Commits or undoes a write, which is a batch of a stream if it has a number. */
  void end(byte[] writer, WriterCommitMessage[] messages, boolean abort, Long batch) {
    Map question = question("commit", null);
    question.put("writer", Base64.getEncoder().encodeToString(writer));
    question.put("abort", Boolean.valueOf(abort));
    question.put("batch", batch);
    List texts = new ArrayList();
    for (int i = 0; i < messages.length; i++) {
      texts.add(messages[i] == null ? null : Base64.getEncoder().encodeToString(
          ((PythonWriterCommitMessage) messages[i]).pickledMessage()));
    }
    question.put("messages", texts);
    ask(question);
  }

  /** What the files at a path tell: columns, which of them directories make, and which files. */
  public static class Inferred {
    final StructType schema;
    final String[] keys;
    final String state;

    Inferred(StructType schema, String[] texts) {
      this.schema = schema;
      this.state = texts[0];
      this.keys = (String[]) java.util.Arrays.copyOfRange(texts, 1, texts.length);
    }
  }

  Inferred infer(CaseInsensitiveStringMap options) {
    byte[][] answer = ask(question("schema", options));
    return new Inferred(unpacked(answer), texts(answer[0]));
  }

  /** The files that are there now. */
  String state(CaseInsensitiveStringMap options) { return text(ask(question("state", options))[0]); }

  /** The columns that directories make, as options and files tell, and which files there are. */
  Inferred inferPartitioning(CaseInsensitiveStringMap options) {
    return new Inferred(null, texts(ask(question("keys", options))[0]));
  }

  /** Whether the write that options identify was done before. */
  boolean isWritten(CaseInsensitiveStringMap options) {
    return text(ask(question("written", options))[0]).equals("true");
  }

  boolean hasFiles(CaseInsensitiveStringMap options) {
    return text(ask(question("exists", options))[0]).equals("true");
  }

  /** What a stream asks for. */
  String stream(Map options, Map asked) {
    Map question = question("stream", new CaseInsensitiveStringMap(options));
    question.putAll(asked);
    return text(ask(question)[0]);
  }

  /** Removes the partitions that a condition selects, as one job of the dataset. */
  void remove(CaseInsensitiveStringMap options, String condition, StructType partitionSchema) {
    Map question = question("remove", options);
    question.put("condition", condition);
    question.put("schema", partitionSchema.json());
    ask(question);
    MosaicCaches.forget(options.get("path"));
  }

  /** The partitions that have files. */
  InternalRow[] partitions(CaseInsensitiveStringMap options, StructType schema) {
    String[] values = texts(ask(question("partitions", options))[0]);
    InternalRow[] found = new InternalRow[schema.length() == 0 ? 0 : values.length / schema.length()];
    java.time.ZoneId zone = java.time.ZoneId.of(
        SparkSession.active().sessionState().conf().sessionLocalTimeZone());
    for (int i = 0; i < found.length; i++) {
      Object[] row = new Object[schema.length()];
      for (int j = 0; j < row.length; j++) {
        row[j] = partitionValue(values[i * row.length + j], schema.fields()[j].dataType(), zone);
      }
      found[i] = new GenericInternalRow(row);
    }
    return found;
  }

  /** Spark's own cast takes texts for the names of directories, and strings have no escapes here. */
  private static Object partitionValue(String text, DataType type, java.time.ZoneId zone) {
    if (text == null) return null;
    if (type instanceof StringType) return UTF8String.fromString(text);
    return PartitioningUtils$.MODULE$.castPartValueToDesiredType(type, text, zone);
  }

  /** The files of a relation, as URIs. */
  String[] files(CaseInsensitiveStringMap options) {
    return texts(ask(question("files", options))[0]);
  }

  /** What a scan reads, from metadata alone: rows at most, files, row groups, bytes, filters. */
  Map report(CaseInsensitiveStringMap options, StructType schema) {
    Map question = question("report", options);
    question.put("schema", schema.json());
    try {
      return (Map) Values.JSON.readValue(text(ask(question)[0]), Map.class);
    } catch (java.io.IOException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Results of aggregate functions, each as text, from metadata alone; null if that cannot tell. */
  String[] aggregate(CaseInsensitiveStringMap options, StructType schema, List functions) {
    Map question = question("aggregate", options);
    question.put("schema", schema.json());
    question.put("functions", functions);
    byte[][] answer = ask(question);
    return answer.length < 2 ? null : texts(answer[1]);
  }

  static Map question(String kind, CaseInsensitiveStringMap options) {
    Map question = new HashMap();
    question.put("kind", kind);
    if (options != null) {
      Map all = new HashMap(options.asCaseSensitiveMap());
      all.remove(PREPARED);
      all.put("_session", Values.json(settings()));
      question.put("options", all);
    }
    return question;
  }

  /** Settings of the session that answers depend on. */
  private static Map settings() {
    Map found = new HashMap();
    org.apache.spark.sql.internal.SQLConf conf = SparkSession.active().sessionState().conf();
    for (int i = 0; i < SETTINGS.length; i++) found.put(SETTINGS[i], conf.getConfString(SETTINGS[i]));
    return found;
  }

  /** The parts of the answer; an error there is thrown here. */
  private byte[][] ask(Map question) {
    byte[] answer = (byte[]) driver.apply(Values.json(question));
    ByteBuffer input = ByteBuffer.wrap(answer);
    int count = input.getInt();
    byte[][] parts = new byte[Math.abs(count)][];
    for (int i = 0; i < parts.length; i++) {
      parts[i] = new byte[input.getInt()];
      input.get(parts[i]);
    }
    if (count == -1) Refusal.because(text(parts[0]));
    if (count < -1) {
      Refusal.because(text(parts[0]), text(parts[1]), text(parts[2]), text(parts[3]));
    }
    return parts;
  }

  /** The schema in an answer: numbers of kinds, lengths of names, names; then the kinds. */
  private static StructType unpacked(byte[][] answer) {
    StructField[] kinds = new StructField[answer.length - 4];
    for (int i = 0; i < kinds.length; i++) {
      kinds[i] = ((StructType) DataType.fromJson(text(answer[i + 4]))).fields()[0];
    }
    ByteBuffer numbers = ByteBuffer.wrap(answer[1]);
    ByteBuffer lengths = ByteBuffer.wrap(answer[2]);
    StructField[] fields = new StructField[answer[1].length / 4];
    int start = 0;
    for (int i = 0; i < fields.length; i++) {
      StructField kind = kinds[numbers.getInt()];
      int length = lengths.getInt();
      String name = new String(answer[3], start, length, java.nio.charset.StandardCharsets.UTF_8);
      start += length;
      fields[i] = new StructField(name, kind.dataType(), true, kind.metadata());
    }
    return new StructType(fields);
  }

  /** Texts, each after its length; a length of -1 is null. */
  private static String[] texts(byte[] packed) {
    ByteBuffer input = ByteBuffer.wrap(packed);
    ArrayList found = new ArrayList();
    while (input.hasRemaining()) {
      int length = input.getInt();
      byte[] one = new byte[Math.max(0, length)];
      input.get(one);
      found.add(length < 0 ? null : text(one));
    }
    return (String[]) found.toArray(new String[0]);
  }

  private static String text(byte[] bytes) {
    return new String(bytes, java.nio.charset.StandardCharsets.UTF_8);
  }
}
