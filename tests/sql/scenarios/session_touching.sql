-- A row that comes exactly a gap after another is of the same session; a millisecond later it is not.
-- file rows.json
-- {"k": "a", "ts": "2024-01-01 00:00:00"}
-- {"k": "a", "ts": "2024-01-01 00:00:10"}
-- {"k": "a", "ts": "2024-01-01 00:00:20.001"}
CREATE TABLE t (k STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '4' SECOND)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '$DIR/rows.json');
SELECT k, COUNT(*) AS n, SESSION_START(ts, INTERVAL '10' SECOND) AS starts,
  SESSION_END(ts, INTERVAL '10' SECOND) AS ends,
  SESSION_ROWTIME(ts, INTERVAL '10' SECOND) AS last
FROM t
GROUP BY k, SESSION(ts, INTERVAL '10' SECOND);
-- table
-- [a, 1, 2024-01-01 00:00:20.001, 2024-01-01 00:00:30.001, 2024-01-01 00:00:30.000]
-- [a, 2, 2024-01-01 00:00:00.000, 2024-01-01 00:00:20.000, 2024-01-01 00:00:19.999]
-- changes
-- +I[a, 2, 2024-01-01 00:00:00.000, 2024-01-01 00:00:20.000, 2024-01-01 00:00:19.999]
-- +I[a, 1, 2024-01-01 00:00:20.001, 2024-01-01 00:00:30.001, 2024-01-01 00:00:30.000]
-- only flink's batch
-- SessionGroupWindow
