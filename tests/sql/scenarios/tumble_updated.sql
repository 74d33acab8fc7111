-- Windows of a table that is updated: a row that is taken back counts as one less.
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
SELECT k, window_start, SUM(n) AS s, COUNT(*) AS c, COUNT(n) FILTER (WHERE n > 20) AS f
FROM TABLE(TUMBLE(TABLE upd, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end, k;
-- table
-- [b, 2024-01-01 10:00:00.000, 43, 2, 2]
-- [b, 2024-01-01 10:00:20.000, 6, 1, 0]
-- [b, 2024-01-01 10:01:20.000, 7, 1, 0]
-- [d, 2024-01-01 10:00:10.000, -7, -1, 0]
-- changes
-- +I[b, 2024-01-01 10:00:00.000, 43, 2, 2]
-- +I[d, 2024-01-01 10:00:10.000, -7, -1, 0]
-- +I[b, 2024-01-01 10:00:20.000, 6, 1, 0]
-- +I[b, 2024-01-01 10:01:20.000, 7, 1, 0]
-- refused in batch
-- INSERT-only table sources
