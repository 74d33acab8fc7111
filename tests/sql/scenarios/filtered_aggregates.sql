-- An aggregate of some rows only.
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
SELECT usr, COUNT(*) FILTER (WHERE price > 5) AS dear, SUM(price) FILTER (WHERE id > 2) AS late FROM orders GROUP BY usr;
-- table
-- [ann, 2, 9.25]
-- [bob, 1, 9]
-- [cid, 1, 10.5]
-- [null, 0, 1]
-- changes
-- +I[ann, 1, null]
-- +I[bob, 0, null]
-- -U[ann, 1, null]
-- +U[ann, 2, 7.25]
-- +I[null, 0, 1]
-- +I[cid, 1, 10.5]
-- -U[ann, 2, 7.25]
-- +U[ann, 2, 9.25]
-- -U[bob, 0, null]
-- +U[bob, 1, 9]
