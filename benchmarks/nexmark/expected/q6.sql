-- The average price of the last ten auctions of each seller to close.
SELECT seller, CAST(SUM(final) // COUNT(*) AS BIGINT) AS average
FROM (
  SELECT seller, final,
    ROW_NUMBER() OVER (PARTITION BY seller ORDER BY expires DESC, id DESC) AS place
  FROM (
    SELECT MAX(b.price) AS final, a.id, a.seller, a.expires
    FROM auction AS a JOIN bid AS b ON a.id = b.auction
    WHERE b."dateTime" BETWEEN a."dateTime" AND a.expires
    GROUP BY a.id, a.seller, a.expires
  )
)
WHERE place <= 10
GROUP BY seller
