-- Prices that fall and rise again, as long as they fall.
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
  PARTITION BY k ORDER BY ts
  MEASURES A.id AS began, LAST(B.id) AS lowest, C.id AS ended, COUNT(B.price) AS n, A.price - LAST(B.price) AS depth
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A B+ C)
  DEFINE B AS B.price < LAST(B.price, 1) OR (LAST(B.price, 1) IS NULL AND B.price < A.price),
    C AS C.price > LAST(B.price)
);
-- table
-- [a, 13, 11, 15, 1, 6]
-- [a, 16, 19, 18, 1, 17]
-- [a, 3, 4, 8, 2, 4]
-- [b, 17, 22, 23, 2, 19]
-- [b, 2, 5, 10, 1, 1]
-- changes
-- +I[a, 3, 4, 8, 2, 4]
-- +I[b, 2, 5, 10, 1, 1]
-- +I[a, 13, 11, 15, 1, 6]
-- +I[a, 16, 19, 18, 1, 17]
-- +I[b, 17, 22, 23, 2, 19]
