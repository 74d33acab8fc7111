-- Groups of some of the rows of sessions: the sessions are those of all rows.
-- file bids.json
-- {"id": 1, "k": "a", "n": 10, "s": "x", "ts": "2024-01-01 10:00:17"}
-- {"id": 2, "k": "b", "n": 5, "s": "x", "ts": "2024-01-01 10:00:13"}
-- {"id": 3, "k": "a", "n": 10, "s": "y", "ts": "2024-01-01 10:00:20"}
-- {"id": 4, "k": "a", "n": 12, "s": "x", "ts": "2024-01-01 10:00:26"}
-- {"id": 5, "k": "b", "n": 5, "s": "y", "ts": "2024-01-01 10:00:22"}
-- {"id": 6, "k": "a", "n": 12, "s": "y", "ts": "2024-01-01 10:00:39"}
-- {"id": 7, "k": "b", "n": 7, "s": "z", "ts": "2024-01-01 10:00:45"}
-- {"id": 8, "k": "b", "n": null, "s": "z", "ts": "2024-01-01 10:00:41"}
-- {"id": 9, "k": "a", "n": 20, "s": "w", "ts": "2024-01-01 10:00:58"}
-- {"id": 10, "k": null, "n": 20, "s": "x", "ts": "2024-01-01 10:01:14"}
-- {"id": 11, "k": "b", "n": 7, "s": "w", "ts": "2024-01-01 10:01:10"}
-- {"id": 12, "k": "c", "n": 9, "s": null, "ts": "2024-01-01 10:01:37"}
CREATE TABLE bids (id INT, k STRING, n INT, s STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '20' SECOND)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '$DIR/bids.json');
SELECT k, window_start, window_end, COUNT(*) AS c FROM (
  SELECT * FROM TABLE(SESSION(TABLE bids PARTITION BY k, DESCRIPTOR(ts), INTERVAL '10' SECOND)) WHERE n > 9)
GROUP BY k, window_start, window_end;
-- table
-- [a, 2024-01-01 10:00:17.000, 2024-01-01 10:00:36.000, 3]
-- [a, 2024-01-01 10:00:39.000, 2024-01-01 10:00:49.000, 1]
-- [a, 2024-01-01 10:00:58.000, 2024-01-01 10:01:08.000, 1]
-- [null, 2024-01-01 10:01:14.000, 2024-01-01 10:01:24.000, 1]
-- changes
-- +I[a, 2024-01-01 10:00:17.000, 2024-01-01 10:00:36.000, 3]
-- +I[a, 2024-01-01 10:00:39.000, 2024-01-01 10:00:49.000, 1]
-- +I[a, 2024-01-01 10:00:58.000, 2024-01-01 10:01:08.000, 1]
-- +I[null, 2024-01-01 10:01:14.000, 2024-01-01 10:01:24.000, 1]
-- only flink's batch
-- Unaligned windows like session
