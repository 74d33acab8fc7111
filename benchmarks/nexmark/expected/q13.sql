-- Bids beside what a table of fixed rows says of their auctions.
SELECT b.auction, b.bidder, b.price, b."dateTime", s.text
FROM bid AS b JOIN side AS s ON b.auction % 10000 = s.id
