-- Numbers of rows in an order that is not time.
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
SELECT id, ROW_NUMBER() OVER (PARTITION BY usr ORDER BY price) AS n,
  SUM(price) OVER (PARTITION BY usr ORDER BY price ROWS UNBOUNDED PRECEDING) AS s
FROM orders WHERE id <> 7;
-- table
-- [1, 2, 17]
-- [2, 3, 5]
-- [3, 1, 7]
-- [4, 1, 1]
-- [5, 1, null]
-- [6, 1, 10]
-- [8, 2, 2]
