-- Rows that are changes, counted.
-- file orders.json
-- {"kind": "c", "usr": "ann", "price": 3}
-- {"kind": "r", "usr": "bob", "price": 5}
-- {"kind": "ub", "usr": "ann", "price": 3}
-- {"kind": "ua", "usr": "ann", "price": 4}
-- {"kind": "c", "usr": "bob", "price": 1}
-- {"kind": "d", "usr": "bob", "price": 5}
-- {"kind": "d", "usr": "ann", "price": 4}
CREATE TABLE orders (kind STRING, usr STRING, price INT)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '$DIR/orders.json');
SELECT usr, COUNT(*) AS n, SUM(price) AS total FROM FROM_CHANGELOG(input => TABLE orders, op => DESCRIPTOR(kind),
  op_mapping => MAP['c, r', 'INSERT', 'ub', 'UPDATE_BEFORE', 'ua', 'UPDATE_AFTER', 'd', 'DELETE']) GROUP BY usr;
-- table
-- [bob, 1, 1]
-- changes
-- +I[ann, 1, 3]
-- +I[bob, 1, 5]
-- -D[ann, 1, 3]
-- +I[ann, 1, 4]
-- -U[bob, 1, 5]
-- +U[bob, 2, 6]
-- -U[bob, 2, 6]
-- +U[bob, 1, 1]
-- -D[ann, 1, 4]
-- refused in batch
-- in batch mode is not supported
