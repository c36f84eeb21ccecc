package pymosaic.spark;

import java.util.Map;
import org.apache.spark.QueryContext;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.unsafe.Platform;

/** What a user is told: one line that says what is wrong, and what would work. */
public class Refusal extends AnalysisException {
  // Spark's class of errors whose whole text is a parameter.
  private static final String OTHER = "_LEGACY_ERROR_USER_RAISED_EXCEPTION";

  /** An error of one of Spark's classes, with a text of ours. */
  public Refusal(String message, String condition, scala.collection.immutable.Map parameters) {
    super(message, scala.Option.empty(), scala.Option.empty(), scala.Option.empty(),
        scala.Option.apply(condition), parameters, new QueryContext[0]);
  }

  /** Throws a checked exception through callers that declare none, as Scala's do not. */
  public static void because(String message) { because(message, OTHER, "errorMessage", message); }

  public static void because(String message, String condition, String parameter, String value) {
    Object parameters = scala.collection.immutable.Map$.MODULE$.empty().updated(parameter, value);
    Platform.throwException(
        new Refusal(message, condition, (scala.collection.immutable.Map) parameters));
  }
}
