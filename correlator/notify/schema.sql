-- What waits for its targets, and what was given up. `id` tells the order; a notice is kept once for each target.
CREATE TABLE IF NOT EXISTS deliveries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    target TEXT NOT NULL,
    incident TEXT NOT NULL,
    notice_id TEXT NOT NULL,
    change TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting',
    queued INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    reason TEXT NOT NULL DEFAULT '',
    bytes INTEGER NOT NULL,
    notice BLOB NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS by_turn ON deliveries (target, state, attempts, id);
CREATE INDEX IF NOT EXISTS by_incident ON deliveries (target, incident, state, id);
CREATE INDEX IF NOT EXISTS by_size ON deliveries (target, state, bytes);
-- What each target was told last of an incident that is not over.
CREATE TABLE IF NOT EXISTS told (
    target TEXT NOT NULL,
    incident TEXT NOT NULL,
    mark TEXT NOT NULL,
    PRIMARY KEY (target, incident)
) STRICT, WITHOUT ROWID;
