-- The older way to write windows.
-- In which order the keys of a window are sent is open.
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
SELECT usr, TUMBLE_START(ts, INTERVAL '10' SECOND) AS s, TUMBLE_END(ts, INTERVAL '10' SECOND) AS e, COUNT(*) AS n
FROM orders GROUP BY usr, TUMBLE(ts, INTERVAL '10' SECOND);
-- table
-- [ann, 2024-01-01 10:00:00.000, 2024-01-01 10:00:10.000, 2]
-- [ann, 2024-01-01 10:00:20.000, 2024-01-01 10:00:30.000, 1]
-- [bob, 2024-01-01 10:00:00.000, 2024-01-01 10:00:10.000, 1]
-- [bob, 2024-01-01 10:00:10.000, 2024-01-01 10:00:20.000, 1]
-- [bob, 2024-01-01 10:00:40.000, 2024-01-01 10:00:50.000, 1]
-- [cid, 2024-01-01 10:00:20.000, 2024-01-01 10:00:30.000, 1]
-- [null, 2024-01-01 10:00:10.000, 2024-01-01 10:00:20.000, 1]
