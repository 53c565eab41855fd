-- One trace in sixteen, whole, by the hash of its id: a diagnosis samples traces, and attributes can only be
-- read a whole granule at a time, so choosing a few thousand traces from all of them would read every span.
CREATE TABLE IF NOT EXISTS otel_traces_sixteenth AS otel_traces;

CREATE MATERIALIZED VIEW IF NOT EXISTS otel_traces_sixteenth_mv TO otel_traces_sixteenth AS
SELECT * FROM otel_traces WHERE TraceId != '' AND cityHash64(TraceId) % 16 = 0;
