-- Windows of twenty seconds over the aggregates of windows of ten.
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
CREATE VIEW tens AS SELECT SUM(price) AS total, COUNT(*) AS n, window_time AS ts
FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end, window_time;
SELECT SUM(total) AS total, SUM(n) AS n, MAX(total) AS most, window_end
FROM TABLE(TUMBLE(TABLE tens, DESCRIPTOR(ts), INTERVAL '20' SECOND))
GROUP BY window_start, window_end;
-- table
-- [12.5, 2, 12.5, 2024-01-01 10:00:40.000]
-- [21.75, 5, 20.75, 2024-01-01 10:00:20.000]
-- [9, 1, 9, 2024-01-01 10:01:00.000]
-- changes
-- +I[21.75, 5, 20.75, 2024-01-01 10:00:20.000]
-- +I[12.5, 2, 12.5, 2024-01-01 10:00:40.000]
-- +I[9, 1, 9, 2024-01-01 10:01:00.000]
