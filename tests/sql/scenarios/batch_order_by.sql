-- ORDER BY without LIMIT, in batch mode.
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
SELECT id, price FROM orders WHERE price > 2 ORDER BY price DESC, id;
-- refused
-- ORDER BY
-- batch
-- [1, 10]
-- [2, 3]
-- [3, 7]
-- [6, 10]
-- [7, 7]
