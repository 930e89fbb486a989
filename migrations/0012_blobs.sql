-- Files below blobs/ that some checkpoint names.  Identical bytes are one file and one row.
CREATE TABLE blobs (
	hash  BLOB PRIMARY KEY CHECK (length(hash) = 32), -- SHA-256 of the bytes, and the file's name in hex
	bytes INTEGER NOT NULL CHECK (bytes >= 0)         -- size of the file
) STRICT, WITHOUT ROWID;
