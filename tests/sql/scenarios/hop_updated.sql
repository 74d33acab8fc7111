-- Extremes and lists in windows of a table that is updated.
-- file upd.json
-- {"op": "c", "before": null, "after": {"k": "a", "n": 10, "ts": "2024-01-01 10:00:01"}}
-- {"op": "c", "before": null, "after": {"k": "b", "n": 20, "ts": "2024-01-01 10:00:02"}}
-- {"op": "c", "before": null, "after": {"k": "b", "n": 22, "ts": "2024-01-01 10:00:03"}}
-- {"op": "u", "before": {"k": "b", "n": 20, "ts": "2024-01-01 10:00:02"}, "after": {"k": "b", "n": 21, "ts": "2024-01-01 10:00:04"}}
-- {"op": "d", "before": {"k": "a", "n": 10, "ts": "2024-01-01 10:00:01"}, "after": null}
-- {"op": "c", "before": null, "after": {"k": "c", "n": 30, "ts": "2024-01-01 10:00:14"}}
-- {"op": "d", "before": {"k": "c", "n": 30, "ts": "2024-01-01 10:00:14"}, "after": null}
-- {"op": "c", "before": null, "after": {"k": "b", "n": 5, "ts": "2024-01-01 10:00:15"}}
-- {"op": "d", "before": {"k": "d", "n": 7, "ts": "2024-01-01 10:00:16"}, "after": null}
-- {"op": "u", "before": {"k": "b", "n": 5, "ts": "2024-01-01 10:00:15"}, "after": {"k": "b", "n": 6, "ts": "2024-01-01 10:00:25"}}
-- {"op": "c", "before": null, "after": {"k": "b", "n": 7, "ts": "2024-01-01 10:01:25"}}
CREATE TABLE upd (k STRING, n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '20' SECOND)
WITH ('connector' = 'filesystem', 'format' = 'debezium-json', 'path' = '$DIR/upd.json');
SELECT k, window_start, MIN(n) AS mi, MAX(n) AS ma, COUNT(DISTINCT n) AS d, LISTAGG(CAST(n AS STRING)) AS l
FROM TABLE(HOP(TABLE upd, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) GROUP BY window_start, window_end, k;
-- table
-- [b, 2024-01-01 09:59:55.000, 21, 22, 2, 22,21]
-- [b, 2024-01-01 10:00:00.000, 21, 22, 2, 22,21]
-- [b, 2024-01-01 10:00:20.000, 6, 6, 1, 6]
-- [b, 2024-01-01 10:00:25.000, 6, 6, 1, 6]
-- [b, 2024-01-01 10:01:20.000, 7, 7, 1, 7]
-- [b, 2024-01-01 10:01:25.000, 7, 7, 1, 7]
-- [d, 2024-01-01 10:00:10.000, null, null, 0, null]
-- [d, 2024-01-01 10:00:15.000, null, null, 0, null]
-- changes
-- +I[b, 2024-01-01 09:59:55.000, 21, 22, 2, 22,21]
-- +I[b, 2024-01-01 10:00:00.000, 21, 22, 2, 22,21]
-- +I[d, 2024-01-01 10:00:10.000, null, null, 0, null]
-- +I[d, 2024-01-01 10:00:15.000, null, null, 0, null]
-- +I[b, 2024-01-01 10:00:20.000, 6, 6, 1, 6]
-- +I[b, 2024-01-01 10:00:25.000, 6, 6, 1, 6]
-- +I[b, 2024-01-01 10:01:20.000, 7, 7, 1, 7]
-- +I[b, 2024-01-01 10:01:25.000, 7, 7, 1, 7]
-- refused in batch
-- INSERT-only table sources
