-- A player is forgotten: all that names him goes, and stays away.

-- name: forget_look
-- All that is here of him, by kind.  His campaigns: those with other members, others, and those in the trash.
SELECT EXISTS (SELECT 1 FROM players WHERE id = :id),
       (SELECT code FROM codes WHERE player = :id),
       (SELECT count(*) FROM campaigns c WHERE c.owner = :id AND c.trashed_ms IS NULL
        AND EXISTS (SELECT 1 FROM members m WHERE m.campaign = c.number AND m.state = 0 AND m.player <> :id)),
       (SELECT count(*) FROM campaigns WHERE owner = :id AND trashed_ms IS NULL),
       (SELECT count(*) FROM campaigns WHERE owner = :id AND trashed_ms IS NOT NULL),
       (SELECT count(*) FROM members m JOIN campaigns c ON c.number = m.campaign
        WHERE m.player = :id AND m.state = 0 AND c.trashed_ms IS NULL AND c.owner <> :id),
       (SELECT count(*) FROM checkpoints k JOIN campaigns c ON c.number = k.campaign
        WHERE k.player = :id AND c.owner <> :id),
       (SELECT count(*) FROM audit WHERE instr(lower(target), lower(hex(:id))) > 0 OR instr(lower(detail), lower(hex(:id))) > 0),
       EXISTS (SELECT 1 FROM bans WHERE kind = 1 AND value = lower(hex(:id))),
       EXISTS (SELECT 1 FROM members WHERE player = :id) + EXISTS (SELECT 1 FROM player_quotas WHERE player = :id)
       + EXISTS (SELECT 1 FROM live_friends WHERE player = :id);

-- name: forget_shared
-- His campaigns that have other members, and how many.
SELECT c.id, count(*) FROM campaigns c JOIN members m ON m.campaign = c.number AND m.state = 0 AND m.player <> :id
WHERE c.owner = :id AND c.trashed_ms IS NULL
GROUP BY c.number
ORDER BY c.number;

-- name: forget_next_campaign
-- Whether it is in the trash, and whether others are members.
SELECT c.number, c.id, c.trashed_ms IS NOT NULL,
       EXISTS (SELECT 1 FROM members m WHERE m.campaign = c.number AND m.state = 0 AND m.player <> c.owner)
FROM campaigns c
WHERE c.owner = :id
ORDER BY c.number
LIMIT 1;

-- name: forget_member_known
-- One of its members of whom something is known, who so may own it.
SELECT m.player FROM members m JOIN players p ON p.id = m.player
WHERE m.campaign = :campaign AND m.state = 0 AND m.player <> :id
ORDER BY m.used DESC, m.player
LIMIT 1;

-- name: forget_quota
-- Of the id of a campaign that is gone.
DELETE FROM campaign_quotas WHERE campaign = :campaign AND NOT EXISTS (SELECT 1 FROM campaigns WHERE id = :campaign);

-- name: forget_memberships
DELETE FROM members WHERE player = :id;

-- name: forget_uploader
-- In campaigns that stay: nobody's id is eight zero bytes.
UPDATE checkpoints SET player = zeroblob(8) WHERE player = :id;

-- name: forget_games
DELETE FROM live_games WHERE player = :id;

-- name: forget_places
DELETE FROM live_friends WHERE player = :id;

-- name: forget_audit_next
-- Rows of the trail that name him, by their ids.
SELECT id, target, detail FROM audit
WHERE id > :after AND (instr(lower(target), lower(hex(:player))) > 0 OR instr(lower(detail), lower(hex(:player))) > 0)
ORDER BY id
LIMIT 1;

-- name: forget_audit_put
UPDATE audit SET target = :target, detail = :detail WHERE id = :id;

-- name: forgotten_salt
-- The next one; there is seldom more than one.
SELECT salt FROM forgotten WHERE salt > :after ORDER BY salt LIMIT 1;

-- name: forgotten_find
SELECT at_ms, heir FROM forgotten WHERE salt = :salt AND tag = :tag;

-- name: forgotten_put
-- Without an heir the one that stands there stays: copies from before still have what he was given.
INSERT INTO forgotten (salt, tag, at_ms, heir) VALUES (:salt, :tag, :at_ms, :heir)
ON CONFLICT (salt, tag) DO UPDATE SET at_ms = max(at_ms, excluded.at_ms), heir = coalesce(excluded.heir, heir);

-- name: forgotten_heir
UPDATE forgotten SET heir = zeroblob(8) WHERE heir = :id;

-- name: forgotten_expire
DELETE FROM forgotten WHERE at_ms < :before_ms;

-- name: forgotten_each
SELECT salt, tag, at_ms, heir FROM forgotten ORDER BY salt, tag;

-- name: forgotten_who
-- Every id that is anywhere, once, for looking which of them are on a list.
SELECT id FROM players
UNION
SELECT player FROM members
UNION
SELECT player FROM player_quotas
UNION
SELECT player FROM live_friends WHERE player IS NOT NULL
UNION
SELECT player FROM checkpoints;
