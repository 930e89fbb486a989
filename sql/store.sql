-- What the store knows about itself.

-- name: store_facts_find
SELECT store_id FROM store_facts;

-- name: store_facts_add
INSERT INTO store_facts (one, store_id, made_ms) VALUES (1, :store_id, :now_ms);
