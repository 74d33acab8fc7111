-- The greatest row of each session.
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
SELECT id, k, window_start FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, k ORDER BY n DESC) AS rn
  FROM TABLE(SESSION(TABLE bids PARTITION BY k, DESCRIPTOR(ts), INTERVAL '10' SECOND))) WHERE rn <= 1;
-- table
-- [10, null, 2024-01-01 10:01:14.000]
-- [11, b, 2024-01-01 10:01:10.000]
-- [12, c, 2024-01-01 10:01:37.000]
-- [2, b, 2024-01-01 10:00:13.000]
-- [4, a, 2024-01-01 10:00:17.000]
-- [6, a, 2024-01-01 10:00:39.000]
-- [7, b, 2024-01-01 10:00:41.000]
-- [9, a, 2024-01-01 10:00:58.000]
-- changes
-- +I[2, b, 2024-01-01 10:00:13.000]
-- +I[4, a, 2024-01-01 10:00:17.000]
-- +I[6, a, 2024-01-01 10:00:39.000]
-- +I[7, b, 2024-01-01 10:00:41.000]
-- +I[9, a, 2024-01-01 10:00:58.000]
-- +I[11, b, 2024-01-01 10:01:10.000]
-- +I[10, null, 2024-01-01 10:01:14.000]
-- +I[12, c, 2024-01-01 10:01:37.000]
-- only flink's batch
-- Unaligned windows like session
