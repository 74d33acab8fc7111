-- A log of bids by day and minute, as one writes it to partitioned files.
SELECT auction, bidder, price, "dateTime", extra,
  strftime("dateTime", '%Y-%m-%d') AS dt, strftime("dateTime", '%H:%M') AS hm
FROM bid
