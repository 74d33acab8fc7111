SELECT auction, price, bidder, "dateTime", extra
FROM bid
QUALIFY price = MAX(price) OVER (PARTITION BY epoch_ms("dateTime") // 10000)
