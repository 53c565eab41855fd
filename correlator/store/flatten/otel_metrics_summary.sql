INSERT INTO otel_metrics_summary
SELECT
    $point,
    point.count AS Count,
    point.sum AS Sum,
    point.quantiles.quantile AS `ValueAtQuantiles.Quantile`,
    point.quantiles.value AS `ValueAtQuantiles.Value`
FROM (SELECT *, arrayJoin(metric.summary.points) AS point FROM ($metric))
