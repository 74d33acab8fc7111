-- Winning bids: of each auction the highest bid while it was open, the earlier of equal ones.
SELECT id, itemName, description, initialBid, reserve, seller, category, auction, bidder, price,
  bid_time, bid_extra
FROM (
  SELECT a.id, a.itemName, a.description, a.initialBid, a.reserve, a.seller, a.category, b.auction,
    b.bidder, b.price, b."dateTime" AS bid_time, b.extra AS bid_extra,
    ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, b."dateTime" ASC) AS place
  FROM auction AS a JOIN bid AS b ON a.id = b.auction
  WHERE b."dateTime" BETWEEN a."dateTime" AND a.expires
)
WHERE place <= 1
