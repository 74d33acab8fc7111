-- Without PARTITION BY all rows are one sequence; rows of the same time are in the order that is asked for.
-- file ticks.json
-- {"id": 1, "k": "a", "price": 12, "tax": 2, "ts": "2024-01-01 10:00:01"}
-- {"id": 2, "k": "b", "price": 5, "tax": 3, "ts": "2024-01-01 10:00:02"}
-- {"id": 3, "k": "a", "price": 17, "tax": 2, "ts": "2024-01-01 10:00:02"}
-- {"id": 4, "k": "a", "price": 13, "tax": 3, "ts": "2024-01-01 10:00:04"}
-- {"id": 5, "k": "b", "price": 4, "tax": 1, "ts": "2024-01-01 10:00:03"}
-- {"id": 6, "k": "a", "price": 16, "tax": 3, "ts": "2024-01-01 10:00:03"}
-- {"id": 7, "k": "b", "price": 9, "tax": 1, "ts": "2024-01-01 10:00:06"}
-- {"id": 8, "k": "a", "price": 25, "tax": 2, "ts": "2024-01-01 10:00:05"}
-- {"id": 9, "k": "a", "price": 2, "tax": 1, "ts": "2024-01-01 10:00:06"}
-- {"id": 10, "k": "b", "price": 7, "tax": 2, "ts": "2024-01-01 10:00:05"}
-- {"id": 11, "k": "a", "price": 4, "tax": 1, "ts": "2024-01-01 10:00:08"}
-- {"id": 12, "k": "b", "price": null, "tax": 1, "ts": "2024-01-01 10:00:09"}
-- {"id": 13, "k": "a", "price": 10, "tax": 1, "ts": "2024-01-01 10:00:07"}
-- {"id": 14, "k": "b", "price": 11, "tax": 1, "ts": "2024-01-01 10:00:08"}
-- {"id": 15, "k": "a", "price": 15, "tax": 2, "ts": "2024-01-01 10:00:09"}
-- {"id": 16, "k": "a", "price": 25, "tax": 2, "ts": "2024-01-01 10:00:10"}
-- {"id": 17, "k": "b", "price": 20, "tax": 1, "ts": "2024-01-01 10:00:12"}
-- {"id": 18, "k": "a", "price": 25, "tax": 1, "ts": "2024-01-01 10:00:12"}
-- {"id": 19, "k": "a", "price": 8, "tax": 4, "ts": "2024-01-01 10:00:11"}
-- {"id": 20, "k": "b", "price": 3, "tax": 9, "ts": "2024-01-01 10:00:13"}
-- {"id": 21, "k": "a", "price": 30, "tax": 1, "ts": "2024-01-01 10:00:15"}
-- {"id": 22, "k": "b", "price": 1, "tax": 2, "ts": "2024-01-01 10:00:14"}
-- {"id": 23, "k": "b", "price": 6, "tax": 2, "ts": "2024-01-01 10:00:16"}
-- {"id": 24, "k": "a", "price": 29, "tax": 3, "ts": "2024-01-01 10:00:14"}
-- {"id": 25, "k": "a", "price": 1, "tax": 1, "ts": "2024-01-01 10:00:40"}
-- {"id": 26, "k": "b", "price": 1, "tax": 1, "ts": "2024-01-01 10:00:41"}
CREATE TABLE ticks (id INT, k STRING, price INT, tax INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '3' SECOND)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '$DIR/ticks.json');
SELECT * FROM ticks MATCH_RECOGNIZE (
  ORDER BY ts, price DESC, id
  MEASURES A.id AS a, B.id AS b, price AS last_price
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (A B)
  DEFINE A AS A.k = 'a' AND price > 9,
    B AS B.k <> A.k
);
-- table
-- [13, 14, 11]
-- [15, 12, null]
-- [18, 17, 20]
-- [21, 23, 6]
-- [24, 22, 1]
-- [3, 2, 5]
-- [6, 5, 4]
-- [8, 10, 7]
-- changes
-- +I[3, 2, 5]
-- +I[6, 5, 4]
-- +I[8, 10, 7]
-- +I[13, 14, 11]
-- +I[15, 12, null]
-- +I[18, 17, 20]
-- +I[24, 22, 1]
-- +I[21, 23, 6]
