SELECT ResourceAttributes, ResourceSchemaUrl, ResourceAttributes['service.name'] AS ServiceName,
    toValidUTF8(scoped.scope.name) AS ScopeName, toValidUTF8(scoped.scope.version) AS ScopeVersion,
    otlp_attributes(scoped.scope.attributes) AS ScopeAttributes,
    scoped.scope.dropped_attributes_count AS ScopeDroppedAttrCount,
    toValidUTF8(scoped.schema_url) AS ScopeSchemaUrl,
    arrayJoin(scoped.metrics) AS metric
FROM (
    SELECT otlp_attributes(resourced.resource.attributes) AS ResourceAttributes,
        toValidUTF8(resourced.schema_url) AS ResourceSchemaUrl,
        arrayJoin(resourced.scope_metrics) AS scoped
    FROM (SELECT arrayJoin(resource_metrics) AS resourced FROM otlp_metrics)
)
