INSERT INTO otel_metrics_histogram
SELECT
    $point,
    point.count AS Count,
    point.sum AS Sum,
    point.bucket_counts AS BucketCounts,
    point.bounds AS ExplicitBounds,
    point.min AS Min,
    point.max AS Max,
    metric.histogram.temporality AS AggregationTemporality,
    $exemplars
FROM (SELECT *, arrayJoin(metric.histogram.points) AS point FROM ($metric))
