-- The first row of each key as they come.
-- file bids.json
-- {"id": 1, "k": "a", "n": 10, "s": "x", "ts": "2024-01-01 10:00:17"}
-- {"id": 2, "k": "b", "n": 5, "s": "x", "ts": "2024-01-01 10:00:13"}
-- {"id": 3, "k": "a", "n": 10, "s": "y", "ts": "2024-01-01 10:00:20"}
-- {"id": 4, "k": "a", "n": 12, "s": "x", "ts": "2024-01-01 10:00:16"}
-- {"id": 5, "k": "b", "n": 5, "s": "y", "ts": "2024-01-01 10:00:12"}
-- {"id": 6, "k": "a", "n": 12, "s": "y", "ts": "2024-01-01 10:00:19"}
-- {"id": 7, "k": "b", "n": 7, "s": "z", "ts": "2024-01-01 10:00:15"}
-- {"id": 8, "k": "b", "n": null, "s": "z", "ts": "2024-01-01 10:00:11"}
-- {"id": 9, "k": "a", "n": 20, "s": "w", "ts": "2024-01-01 10:00:18"}
-- {"id": 10, "k": "a", "n": 20, "s": "x", "ts": "2024-01-01 10:00:14"}
-- {"id": 11, "k": "b", "n": 7, "s": "w", "ts": "2024-01-01 10:00:10"}
-- {"id": 12, "k": "b", "n": 9, "s": "z", "ts": "2024-01-01 10:00:17"}
-- {"id": 13, "k": "c", "n": 1, "s": "x", "ts": "2024-01-01 10:00:13"}
-- {"id": 14, "k": "b", "n": 3, "s": "z", "ts": "2024-01-01 10:00:20"}
CREATE TABLE bids (id INT, k STRING, n INT, s STRING, ts TIMESTAMP(3), p AS PROCTIME(),
  WATERMARK FOR ts AS ts - INTERVAL '20' SECOND)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '$DIR/bids.json');
SELECT k, id FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY p) AS rn FROM bids)
WHERE rn = 1;
-- table
-- [a, 1]
-- [b, 2]
-- [c, 13]
-- changes
-- +I[a, 1]
-- +I[b, 2]
-- +I[c, 13]
-- only flink's batch
-- [a, 4]
-- [b, 8]
-- [c, 13]
