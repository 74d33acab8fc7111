-- Windows that end after ten seconds without a row of the user.
-- file orders.json
-- {"id": 1, "usr": "ann", "price": 10.5, "ts": "2024-01-01 10:00:01"}
-- {"id": 2, "usr": "bob", "price": 3.0, "ts": "2024-01-01 10:00:03"}
-- {"id": 3, "usr": "ann", "price": 7.25, "ts": "2024-01-01 10:00:02"}
-- {"id": 4, "usr": null, "price": 1.0, "ts": "2024-01-01 10:00:11"}
-- {"id": 5, "usr": "bob", "price": null, "ts": "2024-01-01 10:00:12"}
-- {"id": 6, "usr": "cid", "price": 10.5, "ts": "2024-01-01 10:00:25"}
-- {"id": 7, "usr": "ann", "price": 2.0, "ts": "2024-01-01 10:00:24"}
-- {"id": 8, "usr": "bob", "price": 9.0, "ts": "2024-01-01 10:00:41"}
CREATE TABLE orders (id INT, usr STRING, price DOUBLE, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '$DIR/orders.json');
SELECT usr, window_start, window_end, COUNT(*) AS n
FROM TABLE(SESSION(TABLE orders PARTITION BY usr, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY usr, window_start, window_end;
-- table
-- [ann, 2024-01-01 10:00:01.000, 2024-01-01 10:00:12.000, 2]
-- [ann, 2024-01-01 10:00:24.000, 2024-01-01 10:00:34.000, 1]
-- [bob, 2024-01-01 10:00:03.000, 2024-01-01 10:00:22.000, 2]
-- [bob, 2024-01-01 10:00:41.000, 2024-01-01 10:00:51.000, 1]
-- [cid, 2024-01-01 10:00:25.000, 2024-01-01 10:00:35.000, 1]
-- [null, 2024-01-01 10:00:11.000, 2024-01-01 10:00:21.000, 1]
-- changes
-- +I[ann, 2024-01-01 10:00:01.000, 2024-01-01 10:00:12.000, 2]
-- +I[null, 2024-01-01 10:00:11.000, 2024-01-01 10:00:21.000, 1]
-- +I[bob, 2024-01-01 10:00:03.000, 2024-01-01 10:00:22.000, 2]
-- +I[ann, 2024-01-01 10:00:24.000, 2024-01-01 10:00:34.000, 1]
-- +I[cid, 2024-01-01 10:00:25.000, 2024-01-01 10:00:35.000, 1]
-- +I[bob, 2024-01-01 10:00:41.000, 2024-01-01 10:00:51.000, 1]
-- only flink's batch
-- Unaligned windows like session are not supported in batch mode yet
