"""The format in code: one module per on-disk structure, each with its byte table.

A file, from its first byte::

    row group 0:  bucket 0 | bucket 1 | …
    row group 1:  bucket 0 | bucket 1 | …
    …
    schema block        the columns                     schema_block
    row group index     where buckets are, statistics   row_group_index
    footer (32 bytes)   where the two above are         footer

A bucket has one of three layouts (``bucket``), one of which is column by column (``page``).
The contents of schema block, bucket and page are compressed as blocks (``compression``).
"""
