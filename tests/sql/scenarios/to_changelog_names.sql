-- Each change as a row, under the names of the kinds.
-- file orders.json
-- {"id": 1, "usr": "ann", "price": 3}
-- {"id": 2, "usr": "bob", "price": 5}
-- {"id": 3, "usr": "ann", "price": -3}
CREATE TABLE orders (id INT, usr STRING, price INT)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '$DIR/orders.json');
CREATE VIEW paid AS SELECT usr, SUM(price) AS total FROM orders GROUP BY usr HAVING SUM(price) > 0;
SELECT usr, op, total FROM TO_CHANGELOG(TABLE paid) AS c WHERE op <> 'DELETE' OR total > 1;
-- table
-- [ann, INSERT, 3]
-- [ann, UPDATE_BEFORE, 3]
-- [bob, INSERT, 5]
-- changes
-- +I[ann, INSERT, 3]
-- +I[bob, INSERT, 5]
-- +I[ann, UPDATE_BEFORE, 3]
-- refused in batch
-- in batch mode is not supported
