-- Frames that reach beyond the row, and an order that descends: in batch mode only.
-- file orders.json
-- {"id": 1, "usr": "ann", "price": 10}
-- {"id": 2, "usr": "bob", "price": 3}
-- {"id": 3, "usr": "ann", "price": 7}
-- {"id": 4, "usr": null, "price": 1}
-- {"id": 5, "usr": "bob", "price": null}
-- {"id": 6, "usr": "cid", "price": 10}
-- {"id": 7, "usr": "ann", "price": 7}
-- {"id": 8, "usr": "bob", "price": 2}
CREATE TABLE orders (id INT, usr STRING, price INT)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '$DIR/orders.json');
SELECT id, SUM(price) OVER (PARTITION BY usr ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS a,
  COUNT(price) OVER (PARTITION BY usr ORDER BY price DESC, id) AS b, MAX(price) OVER (PARTITION BY usr) AS c,
  SUM(price) OVER (ORDER BY id RANGE BETWEEN 2 PRECEDING AND CURRENT ROW) AS d FROM orders;
-- refused
-- on a stream
-- batch
-- [1, 17, 1, 10, 10]
-- [2, 3, 1, 3, 13]
-- [3, 24, 2, 10, 20]
-- [4, 1, 1, 1, 11]
-- [5, 5, 2, 3, 8]
-- [6, 10, 1, 10, 11]
-- [7, 14, 3, 10, 17]
-- [8, 2, 2, 3, 19]
