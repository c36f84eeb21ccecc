package pymosaic.spark;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.WeakHashMap;
import org.apache.spark.sql.catalyst.QueryPlanningTracker$;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * States of datasets, by the query that reads them: all scans of a query read the files of one moment,
 * and files are listed once for it. Spark has one tracker for each query that it plans.
 */
public class MosaicStates {
  private static final Map BY_QUERY = new WeakHashMap();

  static String ofQuery(Map options) {
    CaseInsensitiveStringMap given = new CaseInsensitiveStringMap(options);
    scala.Option tracker = QueryPlanningTracker$.MODULE$.get();
    if (tracker.isEmpty()) return MosaicProvider.source().state(given);
    String key = Values.json(new TreeMap(options));
    Map known;
    synchronized (BY_QUERY) {
      known = (Map) BY_QUERY.get(tracker.get());
      if (known == null) BY_QUERY.put(tracker.get(), known = new HashMap());
    }
    synchronized (known) {
      String state = (String) known.get(key);
      if (state == null) known.put(key, state = MosaicProvider.source().state(given));
      return state;
    }
  }
}
