"""pandas and Polars: thin layers over datasets. DuckDB reads datasets directly."""
