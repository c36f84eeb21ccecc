"""Conditions: sentinel dates, time zones, numbers that do not fit, and ANSI mode."""

from tests.spark.surface.spellings import Spelling

KIND = "Conditions, time zones and ANSI mode"
READ = 'spark.read.format("mosaic").load(path)'
VALUES = """spark.sql('''SELECT * FROM VALUES
    (1, TIMESTAMP'2024-03-10 07:30:00Z', TIMESTAMP_NTZ'2024-03-10 02:30:00', DATE'0001-01-01', 0.1BD, double('NaN'), 1Y),
    (2, TIMESTAMP'0001-01-01 00:00:00Z', TIMESTAMP_NTZ'9999-12-31 23:59:59.999999', DATE'9999-12-31', -0.1BD, double('-Infinity'), -128Y),
    (3, NULL, NULL, NULL, NULL, NULL, NULL),
    (4, TIMESTAMP'9999-12-31 00:00:00Z', TIMESTAMP_NTZ'0001-01-01 00:00:00', DATE'1582-10-10', 0.9BD, 0D, 127Y)
    AS rows(id, at, naive, day, price, x, small)''').coalesce(1).write.format("mosaic").save(path)"""


def _row(does: str, *conditions: str, zone: str = "", ansi: str = "", error: str = "") -> Spelling:
    """Rows that conditions keep, and how many they are; both, because counts go another way."""
    lines = []
    if zone:
        lines.append(f'spark.conf.set("spark.sql.session.timeZone", "{zone}")')
    if ansi:
        lines.append(f'spark.conf.set("spark.sql.ansi.enabled", {ansi})')
    shown = ", ".join(f'"{condition}"' for condition in conditions)
    lines.append(f"kept = [{READ}.where(condition) for condition in ({shown},)]")
    lines.append('[(sorted(rows.select("id").collect()), rows.count()) for rows in kept]')
    return Spelling(does, "\n".join(lines), given=VALUES, error=error)


ROWS = [
    _row(
        "the end of time, in New York",
        "at < timestamp'9999-12-31 23:59:59'",
        "at > timestamp'9999-12-30'",
        "day < date'+10000-01-01'",
        zone="America/New_York",
    ),
    _row(
        "the beginning of time, in Tokyo",
        "at >= timestamp'0001-01-01'",
        "at BETWEEN '0001-01-01' AND '9999-12-31'",
        "day > date'-290000-01-01'",
        zone="Asia/Tokyo",
    ),
    _row(
        "moments without a zone",
        "naive < timestamp_ntz'9999-12-31 23:59:59.999999'",
        "naive = timestamp_ntz'0001-01-01'",
        "at = naive",
        zone="Europe/Berlin",
    ),
    _row(
        "parts of moments in a zone",
        "date(at) = date'2024-03-10'",
        "hour(at) = 3",
        "at > '2024'",
        zone="America/New_York",
    ),
    _row(
        "moments in a list",
        "at IN (timestamp'2024-03-10 16:30:00', timestamp'9999-12-31')",
        "day IN (date'1582-10-10', date'-0001-01-01')",
        zone="Asia/Tokyo",
    ),
    _row("NaN", "x = double('NaN')", "x > 0", "NOT (x < 0)", "isnan(x)", "x <=> double('NaN')"),
    _row("a list of doubles", "x IN (0D, double('NaN'))", "x NOT IN (0D)", "x <=> NULL"),
    _row(
        "decimals of another scale",
        "price = 0.1",
        "price = 0.10000",
        "price > 0.09999",
        "price IN (0.1, 0.105)",
        "(price = 0.1) IS TRUE",
        "(price = 0.105) IS NULL",
    ),
    _row(
        "numbers beyond the type",
        "coalesce(small < 3000000000, false)",
        "small = 128",
        "small > -129",
        "small <= 127.5",
        "small IN (1, 300)",
        "NOT (small = 300)",
    ),
    _row(
        "comparisons that are folded, inside others",
        "(small = 1.5) IS NULL",
        "(small > 127) IS NOT TRUE",
        "nvl(small = 300, true)",
        "(small <=> 300) = false",
        "CASE WHEN small < 200 THEN small = 1 ELSE false END",
        "id % 2 = 1 AND (small = 300 OR x > 0)",
    ),
    _row("NULL in a list", "small IN (NULL, 1)", "small NOT IN (1, NULL)", "small = NULL"),
    _row(
        "text that is not a number, without ANSI",
        "small = 'x'",
        "price = 'abc'",
        "day = 'notadate'",
        "id / 0 = 1",
        ansi="False",
    ),
    _row(
        "text that is not a number, with ANSI",
        "small = 'x'",
        ansi="True",
        error="CAST_INVALID_INPUT",
    ),
    _row(
        "text that is not a date, with ANSI",
        "day = 'notadate'",
        ansi="True",
        error="CAST_INVALID_INPUT",
    ),
    _row("division by zero, with ANSI", "id / 0 = 1", ansi="True", error="DIVIDE_BY_ZERO"),
    _row(
        "overflow, with ANSI", "small + 127Y > 0", ansi="True", error="BINARY_ARITHMETIC_OVERFLOW"
    ),
    _row("overflow, without ANSI", "small + 127Y > 0", "cast(x AS int) = 0", ansi="False"),
]
