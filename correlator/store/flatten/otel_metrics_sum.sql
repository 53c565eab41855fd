INSERT INTO otel_metrics_sum
SELECT
    $point,
    otlp_number(point.number, point.whole, point.real) AS Value,
    metric.sum.temporality AS AggregationTemporality,
    metric.sum.monotonic AS IsMonotonic,
    $exemplars
FROM (SELECT *, arrayJoin(metric.sum.points) AS point FROM ($metric))
