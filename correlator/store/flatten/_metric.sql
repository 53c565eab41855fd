SELECT ResourceAttributes, ResourceSchemaUrl, ResourceAttributes['service.name'] AS ServiceName,
    scoped.scope.name AS ScopeName, scoped.scope.version AS ScopeVersion,
    otlp_attributes(scoped.scope.attributes) AS ScopeAttributes,
    scoped.scope.dropped_attributes_count AS ScopeDroppedAttrCount, scoped.schema_url AS ScopeSchemaUrl,
    arrayJoin(scoped.metrics) AS metric
FROM (
    SELECT otlp_attributes(resourced.resource.attributes) AS ResourceAttributes,
        resourced.schema_url AS ResourceSchemaUrl,
        arrayJoin(resourced.scope_metrics) AS scoped
    FROM (SELECT arrayJoin(resource_metrics) AS resourced FROM otlp_metrics)
)
