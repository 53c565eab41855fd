-- The requests of the running statement, decoded and as nested as they came; emptied after each.
CREATE TABLE IF NOT EXISTS otlp_traces (
    resource_spans Array(Tuple(
        resource Tuple(attributes $attributes),
        scope_spans Array(Tuple(
            scope Tuple(name String, version String),
            spans Array(Tuple(
                trace_id String, span_id String, trace_state String, parent_span_id String,
                name String, kind Int32, start_nano UInt64, end_nano UInt64,
                attributes $attributes,
                events Array(Tuple(time_nano UInt64, name String, attributes $attributes)),
                links Array(Tuple(
                    trace_id String, span_id String, trace_state String, attributes $attributes
                )),
                status Tuple(message String, code Int32)
            ))
        ))
    )),
    deep Bool ALIAS
        otlp_deep(resource_spans.resource.attributes.value.kind,
            resource_spans.resource.attributes.value.list.items.kind)
        OR otlp_deep(resource_spans.scope_spans.spans.attributes.value.kind,
            resource_spans.scope_spans.spans.attributes.value.list.items.kind)
        OR otlp_deep(resource_spans.scope_spans.spans.events.attributes.value.kind,
            resource_spans.scope_spans.spans.events.attributes.value.list.items.kind)
        OR otlp_deep(resource_spans.scope_spans.spans.links.attributes.value.kind,
            resource_spans.scope_spans.spans.links.attributes.value.list.items.kind)
) ENGINE = Memory;
