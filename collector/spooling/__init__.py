"""How the spool lies on disk."""
