arrayMap(attributes -> otlp_attributes(attributes), point.exemplars.attributes)
    AS `Exemplars.FilteredAttributes`,
arrayMap(nano -> otlp_time(nano), point.exemplars.time_nano) AS `Exemplars.TimeUnix`,
arrayMap((number, whole, real) -> otlp_number(number, whole, real),
    point.exemplars.number, point.exemplars.whole, point.exemplars.real) AS `Exemplars.Value`,
arrayMap(id -> otlp_id(id), point.exemplars.span_id) AS `Exemplars.SpanId`,
arrayMap(id -> otlp_id(id), point.exemplars.trace_id) AS `Exemplars.TraceId`
