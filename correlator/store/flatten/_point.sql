ResourceAttributes, ResourceSchemaUrl, ScopeName, ScopeVersion, ScopeAttributes, ScopeDroppedAttrCount,
ScopeSchemaUrl, ServiceName,
metric.name AS MetricName, metric.description AS MetricDescription, metric.unit AS MetricUnit,
otlp_attributes(point.attributes) AS Attributes,
otlp_time(point.start_nano) AS StartTimeUnix,
otlp_time(point.time_nano) AS TimeUnix,
point.flags AS Flags
