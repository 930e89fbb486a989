-- Players who were forgotten on request, so that neither the text of a checkpoint nor a backup from before brings them back.  Nobody
-- can read an id from its row; it can only be looked for.
CREATE TABLE forgotten (
	salt  BLOB NOT NULL CHECK (length(salt) = 32), -- the tag's key: random, one for all that one database made
	tag   BLOB NOT NULL CHECK (length(tag) = 16),  -- keyed hash of the id
	at_ms INTEGER NOT NULL,                        -- when, the last time
	heir  BLOB CHECK (length(heir) = 8),           -- who got his campaigns that have other members; zeros: one who is forgotten too;
	                                               -- NULL: they were deleted
	PRIMARY KEY (salt, tag)
) STRICT, WITHOUT ROWID;

CREATE INDEX forgotten_by_time ON forgotten (at_ms);
