-- The highest bid of every ten seconds.
SELECT b.auction, b.price, b.bidder, b.`dateTime`, b.extra
FROM bid AS b
JOIN (
  SELECT MAX(price) AS highest, window FROM bid GROUP BY window(`dateTime`, '10 seconds')
) AS m ON b.price = m.highest
  AND b.`dateTime` >= m.window.start AND b.`dateTime` < m.window.end
