-- The highest bid of every ten seconds.
SELECT b.auction, b.price, b.bidder, b.`dateTime`, b.extra
FROM bid AS b
JOIN (
  SELECT MAX(price) AS highest, window_end
  FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
  GROUP BY window_start, window_end
) AS m ON b.price = m.highest
  AND b.`dateTime` >= m.window_end - INTERVAL '10' SECOND AND b.`dateTime` < m.window_end
