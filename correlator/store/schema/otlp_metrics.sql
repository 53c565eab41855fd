-- The requests of the running statement, decoded and as nested as they came; emptied after each.
CREATE TABLE IF NOT EXISTS otlp_metrics (
    resource_metrics Array(Tuple(
        resource Tuple(attributes $attributes),
        schema_url String,
        scope_metrics Array(Tuple(
            scope Tuple(name String, version String, attributes $attributes, dropped_attributes_count UInt32),
            schema_url String,
            metrics Array(Tuple(
                name String, description String, unit String,
                kind Enum8('unset' = 0, 'gauge' = 5, 'sum' = 7, 'histogram' = 9, 'exponential_histogram' = 10,
                    'summary' = 11),
                gauge Tuple(points $numbers),
                sum Tuple(points $numbers, temporality Int32, monotonic Bool),
                histogram Tuple(points Array(Tuple(
                    $distribution, bucket_counts Array(UInt64), bounds Array(Float64)
                )), temporality Int32),
                exponential_histogram Tuple(points Array(Tuple(
                    $distribution, scale Int32, zero_count UInt64,
                    positive Tuple(offset Int32, counts Array(UInt64)),
                    negative Tuple(offset Int32, counts Array(UInt64))
                )), temporality Int32),
                summary Tuple(points Array(Tuple(
                    $totals, quantiles Array(Tuple(quantile Float64, value Float64))
                )))
            ))
        ))
    )),
    deep Bool ALIAS
        otlp_deep(resource_metrics.resource.attributes.value.kind,
            resource_metrics.resource.attributes.value.list.items.kind)
        OR otlp_deep(resource_metrics.scope_metrics.scope.attributes.value.kind,
            resource_metrics.scope_metrics.scope.attributes.value.list.items.kind)
        OR otlp_deep_points(resource_metrics.scope_metrics.metrics.gauge.points)
        OR otlp_deep_points(resource_metrics.scope_metrics.metrics.sum.points)
        OR otlp_deep_points(resource_metrics.scope_metrics.metrics.histogram.points)
        OR otlp_deep_points(resource_metrics.scope_metrics.metrics.exponential_histogram.points)
        OR otlp_deep(resource_metrics.scope_metrics.metrics.summary.points.attributes.value.kind,
            resource_metrics.scope_metrics.metrics.summary.points.attributes.value.list.items.kind)
) ENGINE = Memory;
