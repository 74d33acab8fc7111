-- All rows but the first two: a stream has no end, so that it needs a LIMIT.
-- file orders.json
-- {"id": 1, "price": 3.0}
-- {"id": 2, "price": 5.0}
-- {"id": 3, "price": null}
-- {"id": 4, "price": 1.0}
CREATE TABLE orders (id INT, price DOUBLE)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '$DIR/orders.json');
SELECT id, price FROM orders ORDER BY price DESC OFFSET 2 ROWS;
-- refused
-- ORDER BY
-- batch
-- [3, null]
-- [4, 1]
