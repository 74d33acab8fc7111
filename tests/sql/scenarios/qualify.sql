-- The dearest order of each user.
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
SELECT id, usr, price FROM orders
QUALIFY ROW_NUMBER() OVER (PARTITION BY usr ORDER BY price DESC) <= 1;
-- table
-- [1, ann, 10.5]
-- [4, null, 1]
-- [6, cid, 10.5]
-- [8, bob, 9]
-- changes
-- +I[1, ann, 10.5]
-- +I[2, bob, 3]
-- +I[4, null, 1]
-- +I[6, cid, 10.5]
-- -U[2, bob, 3]
-- +U[8, bob, 9]
