"""The types that cross folder borders: records in, evidence asked of, findings out."""
