INSERT INTO otel_traces
SELECT
    otlp_time(span.start_nano) AS Timestamp,
    otlp_id(span.trace_id) AS TraceId,
    otlp_id(span.span_id) AS SpanId,
    otlp_id(span.parent_span_id) AS ParentSpanId,
    toValidUTF8(span.trace_state) AS TraceState,
    toValidUTF8(span.name) AS SpanName,
    transform(span.kind, [0, 1, 2, 3, 4, 5],
        ['Unspecified', 'Internal', 'Server', 'Client', 'Producer', 'Consumer'], '') AS SpanKind,
    ServiceName,
    ResourceAttributes,
    ScopeName,
    ScopeVersion,
    otlp_attributes(span.attributes) AS SpanAttributes,
    if(span.end_nano > span.start_nano, span.end_nano - span.start_nano, 0) AS Duration,
    transform(span.status.code, [0, 1, 2], ['Unset', 'Ok', 'Error'], '') AS StatusCode,
    toValidUTF8(span.status.message) AS StatusMessage,
    arrayMap(nano -> otlp_time(nano), span.events.time_nano) AS `Events.Timestamp`,
    arrayMap(name -> toValidUTF8(name), span.events.name) AS `Events.Name`,
    arrayMap(attributes -> otlp_attributes(attributes), span.events.attributes) AS `Events.Attributes`,
    arrayMap(id -> otlp_id(id), span.links.trace_id) AS `Links.TraceId`,
    arrayMap(id -> otlp_id(id), span.links.span_id) AS `Links.SpanId`,
    arrayMap(state -> toValidUTF8(state), span.links.trace_state) AS `Links.TraceState`,
    arrayMap(attributes -> otlp_attributes(attributes), span.links.attributes) AS `Links.Attributes`
FROM (
    SELECT ResourceAttributes, ServiceName,
        toValidUTF8(scoped.scope.name) AS ScopeName, toValidUTF8(scoped.scope.version) AS ScopeVersion,
        arrayJoin(scoped.spans) AS span
    FROM (
        SELECT otlp_attributes(resourced.resource.attributes) AS ResourceAttributes,
            ResourceAttributes['service.name'] AS ServiceName,
            arrayJoin(resourced.scope_spans) AS scoped
        FROM (SELECT arrayJoin(resource_spans) AS resourced FROM otlp_traces)
    )
)
