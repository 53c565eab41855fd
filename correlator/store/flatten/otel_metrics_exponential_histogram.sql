INSERT INTO otel_metrics_exponential_histogram
SELECT
    $point,
    point.count AS Count,
    point.sum AS Sum,
    point.scale AS Scale,
    point.zero_count AS ZeroCount,
    point.positive.offset AS PositiveOffset,
    point.positive.counts AS PositiveBucketCounts,
    point.negative.offset AS NegativeOffset,
    point.negative.counts AS NegativeBucketCounts,
    point.min AS Min,
    point.max AS Max,
    metric.exponential_histogram.temporality AS AggregationTemporality,
    $exemplars
FROM (SELECT *, arrayJoin(metric.exponential_histogram.points) AS point FROM ($metric))
