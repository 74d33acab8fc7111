-- A window table function over a query in parentheses.
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
SELECT window_start, window_end, SUM(c) AS c FROM TABLE(TUMBLE((
    SELECT window_time AS wt, COUNT(*) AS c FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '15' SECOND)) GROUP BY window_start, window_end, window_time
  ), DESCRIPTOR(wt), INTERVAL '30' SECOND)) GROUP BY window_start, window_end;
-- table
-- [2024-01-01 10:00:00.000, 2024-01-01 10:00:30.000, 5]
-- [2024-01-01 10:00:30.000, 2024-01-01 10:01:00.000, 4]
-- [2024-01-01 10:01:00.000, 2024-01-01 10:01:30.000, 2]
-- [2024-01-01 10:01:30.000, 2024-01-01 10:02:00.000, 1]
-- changes
-- +I[2024-01-01 10:00:00.000, 2024-01-01 10:00:30.000, 5]
-- +I[2024-01-01 10:00:30.000, 2024-01-01 10:01:00.000, 4]
-- +I[2024-01-01 10:01:00.000, 2024-01-01 10:01:30.000, 2]
-- +I[2024-01-01 10:01:30.000, 2024-01-01 10:02:00.000, 1]
