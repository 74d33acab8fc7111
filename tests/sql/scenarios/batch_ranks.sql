-- Ranks and neighbours in batch mode.
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
SELECT id, RANK() OVER (ORDER BY price) AS a, DENSE_RANK() OVER (ORDER BY price) AS b,
  LAG(id) OVER (PARTITION BY usr ORDER BY id) AS c, LEAD(id) OVER (PARTITION BY usr ORDER BY id) AS d
FROM orders;
-- refused
-- on a stream
-- batch
-- [1, 7, 6, null, 3]
-- [2, 4, 4, null, 5]
-- [3, 5, 5, 1, 7]
-- [4, 2, 2, null, null]
-- [5, 1, 1, 2, 8]
-- [6, 7, 6, null, null]
-- [7, 5, 5, 3, null]
-- [8, 3, 3, 5, null]
