"""pymosaic under the names of other libraries."""
