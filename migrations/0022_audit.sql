-- What operators did.  Each action is noted before it begins, and once more when it has ended.
CREATE TABLE audit (
	id       INTEGER PRIMARY KEY AUTOINCREMENT,
	at_ms    INTEGER NOT NULL,
	who      TEXT NOT NULL,  -- "root", "uid 1000", "token 3 (name)"
	via      TEXT NOT NULL CHECK (via IN ('unix', 'tcp')),
	address  TEXT NOT NULL,  -- in clear
	action   TEXT NOT NULL,  -- "campaign.revoke"
	target   TEXT NOT NULL,  -- "campaigns/00112233445566aa"
	detail   TEXT NOT NULL,  -- what was asked for, as JSON; no secrets
	result   TEXT NOT NULL,  -- "begun", "ok", or the error's code
	ended_ms INTEGER         -- NULL: it has not, or the server ended before
) STRICT;

CREATE INDEX audit_by_time ON audit (at_ms);
-- What came to nothing, which goes first.
CREATE INDEX audit_refused ON audit (id) WHERE result NOT IN ('ok', 'begun');

CREATE VIEW audit_trail AS
SELECT id,
       datetime(at_ms / 1000, 'unixepoch') AS at,
       who,
       via,
       address,
       action,
       target,
       detail,
       result
FROM audit
ORDER BY id DESC;
