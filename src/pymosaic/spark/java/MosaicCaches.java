package pymosaic.spark;

import java.lang.reflect.Field;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.CacheManager;
import org.apache.spark.sql.execution.CachedData;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.internal.SharedState;

/**
 * Cached frames after a write of the session to their path, and after REFRESH and refreshByPath: they
 * are read again when they are used next, as those of Spark's own file sources are.
 *
 * Plain old Java and raw types: Janino compiles it on the driver.
 */
public class MosaicCaches extends CacheManager {
  private static final String WILDCARDS = "*?[{";
  private static final String CACHED = "cachedData";

  /** Takes the place of the manager of all sessions, which refreshes Spark's own file sources only. */
  public static class Installer {
    public void install() {
      try {
        SharedState shared = SparkSession.active().sharedState();
        if (shared.cacheManager() instanceof MosaicCaches) return;
        Field cached = accessible(CacheManager.class, CACHED);
        MosaicCaches manager = new MosaicCaches();
        cached.set(manager, cached.get(shared.cacheManager()));
        accessible(SharedState.class, "cacheManager").set(shared, manager);
      } catch (ReflectiveOperationException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  private static Field accessible(Class owner, String name) throws ReflectiveOperationException {
    Field field = owner.getDeclaredField(name);
    field.setAccessible(true);
    return field;
  }

  /** What `spark.catalog.refreshByPath` and REFRESH 'path' do. */
  public void recacheByPath(SparkSession session, String path) {
    super.recacheByPath(session, path);
    try {
      forgetAll(path);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * Forgets the cached rows of all frames and tables that read from a path.
   *
   * Never fails: the write is done, and must not look as if it were not.
   */
  static void forget(String path) {
    try {
      forgetAll(path);
    } catch (Exception e) {
      // A cached frame stays as it is until it is unpersisted.
    } catch (LinkageError e) {
      // Another Spark: the same.
    }
  }

  private static void forgetAll(String path) throws ReflectiveOperationException {
    SparkSession session = SparkSession.active();
    CacheManager manager = session.sharedState().cacheManager();
    if (path == null || manager.isEmpty()) return;
    List all = Values.javaList((scala.collection.Iterable) accessible(CacheManager.class, CACHED).get(manager));
    for (int i = 0; i < all.size(); i++) {
      List leaves = Values.javaList(((CachedData) all.get(i)).plan().collectLeaves());
      for (int j = 0; j < leaves.size(); j++) {
        MosaicTable table = leaves.get(j) instanceof DataSourceV2Relation
            ? MosaicFiles.tableOf((DataSourceV2Relation) leaves.get(j)) : null;
        if (table == null || !reads(table.options(Values.emptyMap()), path)) continue;
        table.forgetFiles();
        try {
          manager.recacheByPlan(session, (LogicalPlan) leaves.get(j));
        } catch (Exception e) {
          // The write is done; what is wrong is told when the frame is used, which is not cached then.
        }
      }
    }
  }

  private static boolean reads(Map options, String written) {
    Object one = options.get("path");
    if (one != null && areNested((String) one, written)) return true;
    try {
      List more = options.get("paths") == null ? java.util.Collections.EMPTY_LIST
          : (List) Values.JSON.readValue((String) options.get("paths"), List.class);
      for (int i = 0; i < more.size(); i++) {
        if (areNested((String) more.get(i), written)) return true;
      }
    } catch (java.io.IOException e) {
      return true;
    }
    return false;
  }

  /**
   * Whether one of two places is inside the other, or may be.
   *
   * A pattern stands for the directory before it; where a relative path leads, Python knows.
   */
  private static boolean areNested(String read, String written) {
    int end = read.length();
    for (int i = 0; i < WILDCARDS.length(); i++) {
      int place = read.indexOf(WILDCARDS.charAt(i));
      if (place >= 0) end = Math.min(end, place);
    }
    String pattern = read.substring(0, end);
    String first = plain(end == read.length() ? read : pattern.substring(0, pattern.lastIndexOf('/') + 1));
    String second = plain(written);
    if (!first.startsWith("/") || !second.startsWith("/")) return true;
    return first.startsWith(second) || second.startsWith(first);
  }

  private static String plain(String place) {
    if (place.isEmpty()) return "/";
    String found;
    try {
      found = new Path(place).toUri().getPath();
    } catch (IllegalArgumentException e) {
      return place;  // no path to Hadoop, such as a:b
    }
    return found.endsWith("/") ? found : found + "/";
  }
}
