package pymosaic.spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.spark.sql.catalyst.trees.TreeNode;

/** Scala's collections and Java's, and nodes of plans as arrays of their fields. */
public class Values {
  static final ObjectMapper JSON = new ObjectMapper();

  public static List javaList(scala.collection.Iterable items) {
    List found = new ArrayList();
    scala.collection.Iterator each = items.iterator();
    while (each.hasNext()) found.add(each.next());
    return found;
  }

  public static scala.collection.immutable.List scalaList(List items) {
    scala.collection.mutable.ListBuffer found = new scala.collection.mutable.ListBuffer();
    for (int i = 0; i < items.size(); i++) found.addOne(items.get(i));
    return found.toList();
  }

  public static Map javaMap(scala.collection.Map items) {
    Map found = new HashMap();
    scala.collection.Iterator each = items.iterator();
    while (each.hasNext()) {
      scala.Tuple2 entry = (scala.Tuple2) each.next();
      found.put(entry._1(), entry._2());
    }
    return found;
  }

  /** The options with lower-case names; options that come later win. */
  public static Map options(Map first, Map second) {
    Map found = new HashMap();
    Map[] all = new Map[] {first, second};
    for (int i = 0; i < all.length; i++) {
      Iterator entries = all[i].entrySet().iterator();
      while (entries.hasNext()) {
        Map.Entry entry = (Map.Entry) entries.next();
        found.put(((String) entry.getKey()).toLowerCase(Locale.ROOT), entry.getValue());
      }
    }
    return found;
  }

  public static Map emptyMap() { return new HashMap(); }

  public static String json(Object value) {
    try {
      return JSON.writeValueAsString(value);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  public static Object[] fieldsOf(scala.Product node) {
    Object[] fields = new Object[node.productArity()];
    for (int i = 0; i < fields.length; i++) fields[i] = node.productElement(i);
    return fields;
  }

  /** A part of a plan with other fields; before Spark 4.1, some are not nodes. */
  public static Object copy(Object part, Object[] fields) {
    if (part instanceof TreeNode) return ((TreeNode) part).makeCopy(fields);
    try {
      return part.getClass().getConstructors()[0].newInstance(fields);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  public static String quoted(String name) { return "`" + name.replace("`", "``") + "`"; }
}
