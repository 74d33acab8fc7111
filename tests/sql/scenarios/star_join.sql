-- Five tables with one key. The order of changes is open, as all read one file.
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
SELECT a.id AS a, b.id AS b, c.id AS c, d.n, e.total FROM (SELECT * FROM orders WHERE id < 4) a
JOIN (SELECT * FROM orders WHERE id > 4) b ON a.usr = b.usr
LEFT JOIN (SELECT * FROM orders WHERE price > 8) c ON a.usr = c.usr
JOIN (SELECT usr, COUNT(*) AS n FROM orders GROUP BY usr) d ON a.usr = d.usr
LEFT JOIN (SELECT usr, SUM(price) AS total FROM orders GROUP BY usr HAVING SUM(price) > 15) e ON a.usr = e.usr;
-- table
-- [1, 7, 1, 3, 19.75]
-- [2, 5, 8, 3, null]
-- [2, 8, 8, 3, null]
-- [3, 7, 1, 3, 19.75]
