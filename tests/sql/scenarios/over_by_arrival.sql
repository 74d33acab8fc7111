-- Sums over rows in the order in which they come.
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
SELECT id, usr, SUM(price) OVER w AS total, COUNT(*) OVER w AS n FROM (SELECT *, PROCTIME() AS pt FROM orders)
WINDOW w AS (PARTITION BY usr ORDER BY pt ROWS BETWEEN 1 PRECEDING AND CURRENT ROW);
-- table
-- [1, ann, 10.5, 1]
-- [2, bob, 3, 1]
-- [3, ann, 17.75, 2]
-- [4, null, 1, 1]
-- [5, bob, 3, 2]
-- [6, cid, 10.5, 1]
-- [7, ann, 9.25, 2]
-- [8, bob, 9, 2]
-- changes
-- +I[1, ann, 10.5, 1]
-- +I[2, bob, 3, 1]
-- +I[3, ann, 17.75, 2]
-- +I[4, null, 1, 1]
-- +I[5, bob, 3, 2]
-- +I[6, cid, 10.5, 1]
-- +I[7, ann, 9.25, 2]
-- +I[8, bob, 9, 2]
