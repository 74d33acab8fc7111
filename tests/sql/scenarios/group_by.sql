-- Every change of a count and a sum; a group of NULL is a group.
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
SELECT usr, COUNT(*) AS n, COUNT(price) AS priced, SUM(price) AS total, MIN(price) AS least, MAX(price) AS most, AVG(price) AS mean FROM orders GROUP BY usr;
-- table
-- [ann, 3, 3, 19.75, 2, 10.5, 6.583333333]
-- [bob, 3, 2, 12, 3, 9, 6]
-- [cid, 1, 1, 10.5, 10.5, 10.5, 10.5]
-- [null, 1, 1, 1, 1, 1, 1]
-- changes
-- +I[ann, 1, 1, 10.5, 10.5, 10.5, 10.5]
-- +I[bob, 1, 1, 3, 3, 3, 3]
-- -U[ann, 1, 1, 10.5, 10.5, 10.5, 10.5]
-- +U[ann, 2, 2, 17.75, 7.25, 10.5, 8.875]
-- +I[null, 1, 1, 1, 1, 1, 1]
-- -U[bob, 1, 1, 3, 3, 3, 3]
-- +U[bob, 2, 1, 3, 3, 3, 3]
-- +I[cid, 1, 1, 10.5, 10.5, 10.5, 10.5]
-- -U[ann, 2, 2, 17.75, 7.25, 10.5, 8.875]
-- +U[ann, 3, 3, 19.75, 2, 10.5, 6.583333333]
-- -U[bob, 2, 1, 3, 3, 3, 3]
-- +U[bob, 3, 2, 12, 3, 9, 6]
