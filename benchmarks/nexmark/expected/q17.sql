-- Statistics of each auction and day.
SELECT auction, strftime("dateTime", '%Y-%m-%d') AS "day",
  COUNT(*) AS bids,
  COUNT(*) FILTER (WHERE price < 10000) AS low_bids,
  COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS middle_bids,
  COUNT(*) FILTER (WHERE price >= 1000000) AS high_bids,
  MIN(price) AS lowest, MAX(price) AS highest, CAST(SUM(price) // COUNT(*) AS BIGINT) AS average, SUM(price) AS total
FROM bid
GROUP BY auction, strftime("dateTime", '%Y-%m-%d')
