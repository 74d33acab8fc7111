-- The dearest orders of each user, as many as a column of the partition says.
-- file orders.json
-- {"id": 1, "usr": "ann", "most": 2, "price": 10.5}
-- {"id": 2, "usr": "bob", "most": 1, "price": 3.0}
-- {"id": 3, "usr": "ann", "most": 2, "price": 7.25}
-- {"id": 4, "usr": "cid", "most": 0, "price": 1.0}
-- {"id": 5, "usr": "ann", "most": 2, "price": 8.5}
-- {"id": 6, "usr": "bob", "most": 1, "price": 9.0}
-- {"id": 7, "usr": "ann", "most": 3, "price": 2.0}
-- {"id": 8, "usr": "ann", "most": 2, "price": 12.0}
-- {"id": 9, "usr": "ann", "most": 2, "price": 1.0}
CREATE TABLE orders (id INT, usr STRING, most INT, price DOUBLE)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '$DIR/orders.json');
SELECT usr, id, price, rn FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY usr, most ORDER BY price DESC) AS rn FROM orders)
WHERE rn <= most;
-- table
-- [ann, 1, 10.5, 2]
-- [ann, 7, 2, 1]
-- [ann, 8, 12, 1]
-- [bob, 6, 9, 1]
-- changes
-- +I[ann, 1, 10.5, 1]
-- +I[bob, 2, 3, 1]
-- +I[ann, 3, 7.25, 2]
-- -U[ann, 3, 7.25, 2]
-- +U[ann, 5, 8.5, 2]
-- -U[bob, 2, 3, 1]
-- +U[bob, 6, 9, 1]
-- +I[ann, 7, 2, 1]
-- -U[ann, 1, 10.5, 1]
-- +U[ann, 8, 12, 1]
-- -U[ann, 5, 8.5, 2]
-- +U[ann, 1, 10.5, 2]
