-- One row a version of an incident; the highest version of an id holds. A time of 1970 has not come yet.
CREATE TABLE IF NOT EXISTS tollens_incidents (
    id String,
    version UInt64,
    state LowCardinality(String),
    detector LowCardinality(String),
    kind LowCardinality(String),
    `where` String,
    title String,
    severity Float64,
    onset DateTime64(9),
    opened DateTime64(9),
    updated DateTime64(9),
    closed DateTime64(9),
    baseline_start DateTime64(9),
    baseline_end DateTime64(9),
    note String,
    quiet_since DateTime64(9),
    diagnosed DateTime64(9),
    agreed UInt32,
    failure String,
    alerts String,
    diagnosis String CODEC(ZSTD(1)),
    merged_into String
) ENGINE = ReplacingMergeTree(version)
ORDER BY id;

ALTER TABLE tollens_incidents ADD COLUMN IF NOT EXISTS failure String AFTER agreed,
    ADD COLUMN IF NOT EXISTS alerts String AFTER failure;
