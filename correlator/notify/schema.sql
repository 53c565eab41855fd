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
-- Incidents whose end each target was told, for as long as one would look whether it was. Times are Unix nanoseconds.
CREATE TABLE IF NOT EXISTS ended (
    target TEXT NOT NULL,
    incident TEXT NOT NULL,
    closed INTEGER NOT NULL,
    PRIMARY KEY (target, incident)
) STRICT, WITHOUT ROWID;
-- Since when each target is told at all: what was over before is not its business.
CREATE TABLE IF NOT EXISTS since (
    target TEXT PRIMARY KEY,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- Until when each target asked not to be bothered (Retry-After).
CREATE TABLE IF NOT EXISTS rests (
    target TEXT PRIMARY KEY,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- What a target calls the thread of an incident that is not over; `at` is when something was last added to it.
CREATE TABLE IF NOT EXISTS threads (
    target TEXT NOT NULL,
    incident TEXT NOT NULL,
    thread TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (target, incident)
) STRICT, WITHOUT ROWID;
