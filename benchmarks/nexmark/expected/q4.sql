-- The average price at which the auctions of each category closed.
SELECT category, CAST(SUM(final) // COUNT(*) AS BIGINT) AS average
FROM (
  SELECT MAX(b.price) AS final, a.category
  FROM auction AS a JOIN bid AS b ON a.id = b.auction
  WHERE b."dateTime" BETWEEN a."dateTime" AND a.expires
  GROUP BY a.id, a.category
)
GROUP BY category
