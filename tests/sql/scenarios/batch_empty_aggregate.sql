-- An aggregate of no rows has a row in batch mode, and none on a stream.
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
SELECT COUNT(*) AS c, SUM(price) AS s, COALESCE(MAX(price), -1) AS m FROM orders WHERE id > 100;
-- table
-- changes
-- batch
-- [0, null, -1]
