-- Hot items: the auctions with the most bids of the last ten seconds, every two seconds.
WITH counts AS (
  SELECT auction, COUNT(*) AS num, window
  FROM bid GROUP BY auction, window(`dateTime`, '10 seconds', '2 seconds')
)
SELECT c.auction, c.num, c.window.end AS window_end
FROM counts AS c
JOIN (SELECT MAX(num) AS most, window FROM counts GROUP BY window) AS m
  ON c.window = m.window AND c.num >= m.most
