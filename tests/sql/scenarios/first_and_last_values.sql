-- The first and the last values of groups, and all of them.
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
SELECT usr, FIRST_VALUE(id) AS f, LAST_VALUE(id) AS l, LISTAGG(CAST(id AS STRING), '-') AS texts, ARRAY_AGG(id) AS ids
FROM orders GROUP BY usr;
-- table
-- [ann, 1, 7, 1-3-7, (1, 3, 7)]
-- [bob, 2, 8, 2-5-8, (2, 5, 8)]
-- [cid, 6, 6, 6, (6)]
-- [null, 4, 4, 4, (4)]
-- changes
-- +I[ann, 1, 1, 1, (1)]
-- +I[bob, 2, 2, 2, (2)]
-- -U[ann, 1, 1, 1, (1)]
-- +U[ann, 1, 3, 1-3, (1, 3)]
-- +I[null, 4, 4, 4, (4)]
-- -U[bob, 2, 2, 2, (2)]
-- +U[bob, 2, 5, 2-5, (2, 5)]
-- +I[cid, 6, 6, 6, (6)]
-- -U[ann, 1, 3, 1-3, (1, 3)]
-- +U[ann, 1, 7, 1-3-7, (1, 3, 7)]
-- -U[bob, 2, 5, 2-5, (2, 5)]
-- +U[bob, 2, 8, 2-5-8, (2, 5, 8)]
