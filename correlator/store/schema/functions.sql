-- OTLP values as the strings the Collector's exporter writes. Each takes whole columns: lambdas over
-- single tuple elements, never over the tuple, which would copy every element of it.

CREATE OR REPLACE FUNCTION otlp_time AS (nano) ->
    fromUnixTimestamp64Nano(toInt64(least(nano, 9223372036854775807)), 'UTC');

-- An id of zero bytes means unset.
CREATE OR REPLACE FUNCTION otlp_id AS (id) -> if(replaceAll(id, '\0', '') = '', '', lower(hex(id)));

CREATE OR REPLACE FUNCTION otlp_real AS (real) -> multiIf(
    abs(real) < 1e21, toString(real),
    isNaN(real), 'NaN',
    isInfinite(real), if(real > 0, '+Inf', '-Inf'),
    replaceOne(toString(real), 'e', 'e+'));

CREATE OR REPLACE FUNCTION otlp_value AS (kind, text, truth, whole, real, blob, list) -> multiIf(
    kind = 'text', toValidUTF8(text),
    kind = 'whole', toString(whole),
    kind = 'real', otlp_real(real),
    kind = 'truth', if(truth, 'true', 'false'),
    kind = 'list', list,
    kind = 'blob', base64Encode(blob),
    '');

CREATE OR REPLACE FUNCTION otlp_values AS (value) -> arrayMap(
    (kind, text, truth, whole, real, blob, list) -> otlp_value(kind, text, truth, whole, real, blob, list),
    (value).kind, (value).text, (value).truth, (value).whole, (value).real, (value).blob,
    arrayMap(texts -> if(empty(texts), '[]', toValidUTF8(toJSONString(texts))),
        (value).list.items.text));

-- Sorted, so that equal attributes are equal maps.
CREATE OR REPLACE FUNCTION otlp_attributes AS (attributes) -> mapSort(CAST(
    (arrayMap(key -> toValidUTF8(key), (attributes).key), otlp_values((attributes).value)),
    'Map(LowCardinality(String), String)'));

-- Whether a value goes deeper than our .proto follows. Takes the kinds of values and of list items, in
-- arrays of any depth.
CREATE OR REPLACE FUNCTION otlp_deep AS (kinds, item_kinds) ->
    has(arrayFlatten(kinds), 'tree') OR has(arrayFlatten(item_kinds), 'unset');

CREATE OR REPLACE FUNCTION otlp_deep_points AS (points) ->
    otlp_deep((points).attributes.value.kind, (points).attributes.value.list.items.kind)
    OR otlp_deep((points).exemplars.attributes.value.kind,
        (points).exemplars.attributes.value.list.items.kind);

CREATE OR REPLACE FUNCTION otlp_number AS (kind, whole, real) -> if(kind = 'whole', toFloat64(whole), real);
