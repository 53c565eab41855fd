INSERT INTO otel_metrics_gauge
SELECT
    $point,
    otlp_number(point.number, point.whole, point.real) AS Value,
    $exemplars
FROM (SELECT *, arrayJoin(metric.gauge.points) AS point FROM ($metric))
