"""Takes back the rows of a load that was not finished, told from others by the number of their inserted block.

ClickHouse numbers the blocks inserted into a table upwards and can keep the number with each row through all merges.
So what the table held before a load is known by one number, and whatever came later can be deleted. (Its own
deduplication by token loses rows: it notes the token before the rows are there.)
"""

from __future__ import annotations

from collections.abc import Mapping

from correlator.store.engine import Engine

Blocks = Mapping[str, int]
"""The number of the newest block of each table."""


def prepare(engine: Engine) -> None:
    """Let rows keep the number of their block, and inserts reach the disk before they succeed."""
    for table in engine.query(_UNPREPARED, {"settings": _SETTINGS}).itertuples():
        engine.query(f"ALTER TABLE {table.name} MODIFY SETTING {_SETTINGS}", {})


def newest_blocks(engine: Engine) -> dict[str, int]:
    """As the tables are now."""
    newest = engine.query(_NEWEST, {})
    return dict(zip(newest["name"], newest["block"].astype(int), strict=True))


def undo(engine: Engine, since: Blocks) -> None:
    """Delete the rows inserted after `since`. StoreError, and then to be tried again."""
    for table, block in since.items():
        if engine.query(_LATER.format(table=table), {"table": table, "block": block})["rows"][0]:
            engine.query(_DELETE.format(table=table), {"block": block})


_SETTINGS = "enable_block_number_column = 1, fsync_after_insert = 1, fsync_part_directory = 1"
_TABLES = r"database = currentDatabase() AND name LIKE 'otel\\_%' AND engine LIKE '%MergeTree'"
_UNPREPARED = f"SELECT name FROM system.tables WHERE {_TABLES} AND position(engine_full, {{settings:String}}) = 0"

# Not the aggregating tables: their rows are nobody's own any more, and adding the same once more changes nothing.
_NEWEST = f"""
SELECT tables.name AS name, max(parts.max_block_number) AS block
FROM (SELECT name FROM system.tables WHERE {_TABLES} AND engine = 'MergeTree') AS tables
LEFT JOIN (SELECT table, max_block_number FROM system.parts WHERE database = currentDatabase() AND active) AS parts
    ON parts.table = tables.name
GROUP BY name
"""
_LATER = """
SELECT count() AS rows FROM {table} WHERE _block_number > {{block:Int64}} AND _part IN (
    SELECT name FROM system.parts
    WHERE database = currentDatabase() AND table = {{table:String}} AND active AND max_block_number > {{block:Int64}}
)
"""
_DELETE = "ALTER TABLE {table} DELETE WHERE _block_number > {{block:Int64}} SETTINGS mutations_sync = 1"
