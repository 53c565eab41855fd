INSERT INTO otel_logs
SELECT
    otlp_time(if(record.time_nano = 0, record.observed_nano, record.time_nano)) AS Timestamp,
    otlp_id(record.trace_id) AS TraceId,
    otlp_id(record.span_id) AS SpanId,
    toUInt8(bitAnd(record.flags, 255)) AS TraceFlags,
    toValidUTF8(record.severity_text) AS SeverityText,
    if(record.severity_number BETWEEN 0 AND 255, toUInt8(record.severity_number), 0) AS SeverityNumber,
    ResourceAttributes['service.name'] AS ServiceName,
    otlp_values([record.body])[1] AS Body,
    ResourceSchemaUrl,
    ResourceAttributes,
    ScopeSchemaUrl,
    ScopeName,
    ScopeVersion,
    ScopeAttributes,
    otlp_attributes(record.attributes) AS LogAttributes,
    toValidUTF8(record.event_name) AS EventName
FROM (
    SELECT ResourceAttributes, ResourceSchemaUrl,
        toValidUTF8(scoped.scope.name) AS ScopeName, toValidUTF8(scoped.scope.version) AS ScopeVersion,
        otlp_attributes(scoped.scope.attributes) AS ScopeAttributes,
        toValidUTF8(scoped.schema_url) AS ScopeSchemaUrl,
        arrayJoin(scoped.log_records) AS record
    FROM (
        SELECT otlp_attributes(resourced.resource.attributes) AS ResourceAttributes,
            toValidUTF8(resourced.schema_url) AS ResourceSchemaUrl,
            arrayJoin(resourced.scope_logs) AS scoped
        FROM (SELECT arrayJoin(resource_logs) AS resourced FROM otlp_logs)
    )
)
