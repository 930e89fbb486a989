-- Files that no checkpoint names any more, until they are removed.  One that is stored again meanwhile leaves this list.
CREATE TABLE blob_garbage (
	hash   BLOB PRIMARY KEY CHECK (length(hash) = 32),
	is_old INTEGER NOT NULL CHECK (is_old IN (0, 1)) -- noted before this start: the file goes to blobs/.trash instead
) STRICT, WITHOUT ROWID;
