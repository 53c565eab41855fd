ResourceAttributes, ResourceSchemaUrl, ScopeName, ScopeVersion, ScopeAttributes, ScopeDroppedAttrCount,
ScopeSchemaUrl, ServiceName,
toValidUTF8(metric.name) AS MetricName,
toValidUTF8(metric.description) AS MetricDescription,
toValidUTF8(metric.unit) AS MetricUnit,
otlp_attributes(point.attributes) AS Attributes,
otlp_time(point.start_nano) AS StartTimeUnix,
otlp_time(point.time_nano) AS TimeUnix,
point.flags AS Flags
