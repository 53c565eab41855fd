-- The requests of the running statement, decoded and as nested as they came; emptied after each.
CREATE TABLE IF NOT EXISTS otlp_logs (
    resource_logs Array(Tuple(
        resource Tuple(attributes $attributes),
        schema_url String,
        scope_logs Array(Tuple(
            scope Tuple(name String, version String, attributes $attributes),
            schema_url String,
            log_records Array(Tuple(
                time_nano UInt64, observed_nano UInt64,
                severity_number Int32, severity_text String,
                body $value,
                attributes $attributes,
                flags UInt32, trace_id String, span_id String, event_name String
            ))
        ))
    )),
    deep Bool ALIAS
        otlp_deep(resource_logs.resource.attributes.value.kind,
            resource_logs.resource.attributes.value.list.items.kind)
        OR otlp_deep(resource_logs.scope_logs.scope.attributes.value.kind,
            resource_logs.scope_logs.scope.attributes.value.list.items.kind)
        OR otlp_deep(resource_logs.scope_logs.log_records.body.kind,
            resource_logs.scope_logs.log_records.body.list.items.kind)
        OR otlp_deep(resource_logs.scope_logs.log_records.attributes.value.kind,
            resource_logs.scope_logs.log_records.attributes.value.list.items.kind)
) ENGINE = Memory;
