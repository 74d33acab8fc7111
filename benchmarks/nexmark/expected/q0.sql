-- Pass-through: what reading and writing cost by themselves.
SELECT auction, bidder, price, "dateTime", extra FROM bid
