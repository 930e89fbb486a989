-- Holds the place of the checkpoints from another branch.
CREATE TABLE checkpoints (campaign BLOB NOT NULL, version INTEGER NOT NULL, sha256 BLOB NOT NULL, PRIMARY KEY (campaign, version)) STRICT, WITHOUT ROWID;
CREATE INDEX checkpoints_by_hash ON checkpoints (sha256);
