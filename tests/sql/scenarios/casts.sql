-- Values become values of other types.
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
SELECT CAST(id AS STRING) AS s, CAST(price AS INT) AS i, CAST(ts AS DATE) AS d, TRY_CAST(usr AS INT) AS t, CAST(price AS DECIMAL(6, 1)) AS e FROM orders;
-- table
-- [1, 10, 2024-01-01, null, 10.5]
-- [2, 3, 2024-01-01, null, 3.0]
-- [3, 7, 2024-01-01, null, 7.3]
-- [4, 1, 2024-01-01, null, 1.0]
-- [5, null, 2024-01-01, null, null]
-- [6, 10, 2024-01-01, null, 10.5]
-- [7, 2, 2024-01-01, null, 2.0]
-- [8, 9, 2024-01-01, null, 9.0]
-- changes
-- +I[1, 10, 2024-01-01, null, 10.5]
-- +I[2, 3, 2024-01-01, null, 3.0]
-- +I[3, 7, 2024-01-01, null, 7.3]
-- +I[4, 1, 2024-01-01, null, 1.0]
-- +I[5, null, 2024-01-01, null, null]
-- +I[6, 10, 2024-01-01, null, 10.5]
-- +I[7, 2, 2024-01-01, null, 2.0]
-- +I[8, 9, 2024-01-01, null, 9.0]
