-- What this store knows about itself: one row.
CREATE TABLE store_facts (
	one      INTEGER PRIMARY KEY CHECK (one = 1),
	store_id BLOB NOT NULL CHECK (length(store_id) = 16), -- random; the blob folder has the same in its file store-id
	made_ms  INTEGER NOT NULL                             -- Unix time, in milliseconds like every *_ms
) STRICT;
