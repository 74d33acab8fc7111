-- The users with the most orders among as many as a column of the partition says.
-- file orders.json
-- {"usr": "ann", "most": 1, "price": 1}
-- {"usr": "bob", "most": 1, "price": 2}
-- {"usr": "bob", "most": 1, "price": 4}
-- {"usr": "cid", "most": 2, "price": 3}
-- {"usr": "dan", "most": 2, "price": 5}
-- {"usr": "eve", "most": 2, "price": 4}
-- {"usr": "ann", "most": 1, "price": 9}
-- {"usr": "eve", "most": 2, "price": -4}
CREATE TABLE orders (usr STRING, most BIGINT, price INT)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '$DIR/orders.json');
SELECT most, usr, paid FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY most ORDER BY paid DESC) AS rn FROM (
    SELECT most, usr, SUM(price) AS paid FROM orders GROUP BY most, usr))
WHERE rn <= most;
-- table
-- [1, ann, 10]
-- [2, cid, 3]
-- [2, dan, 5]
-- changes
-- +I[1, ann, 1]
-- -D[1, ann, 1]
-- +I[1, bob, 2]
-- -D[1, bob, 2]
-- +I[1, ann, 1]
-- -D[1, ann, 1]
-- +I[1, bob, 6]
-- +I[2, cid, 3]
-- +I[2, dan, 5]
-- -D[2, cid, 3]
-- +I[2, eve, 4]
-- -D[1, bob, 6]
-- +I[1, ann, 10]
-- -D[2, eve, 4]
-- +I[2, cid, 3]
