"""The watcher: notices symptoms by itself, opens, updates, merges and closes incidents, and has them diagnosed."""
