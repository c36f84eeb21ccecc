"""pandas and Polars: thin layers over datasets. DuckDB reads a dataset as it is."""
