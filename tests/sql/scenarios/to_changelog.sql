-- Each change as a row, with other codes and without old rows.
-- file orders.json
-- {"id": 1, "usr": "ann", "price": 3}
-- {"id": 2, "usr": "bob", "price": 5}
-- {"id": 3, "usr": "ann", "price": -3}
-- {"id": 4, "usr": null, "price": 1}
-- {"id": 5, "usr": "bob", "price": 2}
CREATE TABLE orders (id INT, usr STRING, price INT)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '$DIR/orders.json');
CREATE VIEW paid AS SELECT usr, SUM(price) AS total FROM orders GROUP BY usr HAVING SUM(price) > 0;
SELECT * FROM TO_CHANGELOG(input => TABLE paid, op => DESCRIPTOR(what),
  op_mapping => MAP['INSERT, UPDATE_AFTER', 'is', 'DELETE', 'was']);
-- table
-- [is, ann, 3]
-- [is, bob, 5]
-- [is, bob, 7]
-- [is, null, 1]
-- changes
-- +I[is, ann, 3]
-- +I[is, bob, 5]
-- +I[is, null, 1]
-- +I[is, bob, 7]
-- refused in batch
-- in batch mode is not supported
