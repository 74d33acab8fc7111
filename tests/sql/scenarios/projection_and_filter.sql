-- Columns are computed, and rows are filtered; a condition that is NULL lets nothing through.
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
SELECT id, UPPER(usr) AS name, price * 2 AS twice, CASE WHEN price > 5 THEN 'dear' WHEN price > 2 THEN 'fair' ELSE 'cheap' END AS kind
FROM orders WHERE price >= 2 AND usr <> 'cid';
-- table
-- [1, ANN, 21, dear]
-- [2, BOB, 6, fair]
-- [3, ANN, 14.5, dear]
-- [7, ANN, 4, cheap]
-- [8, BOB, 18, dear]
-- changes
-- +I[1, ANN, 21, dear]
-- +I[2, BOB, 6, fair]
-- +I[3, ANN, 14.5, dear]
-- +I[7, ANN, 4, cheap]
-- +I[8, BOB, 18, dear]
