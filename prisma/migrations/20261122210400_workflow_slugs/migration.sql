-- The id that stands for a workflow outside (`workflow/<slug>`, `workflow.<slug>`) is its own from its making on. Those there are
-- keep what was computed of their names: the oldest of a name has it, the others a piece of their id behind it. A row of an
-- older build, while both serve, has an id that says nothing.

ALTER TABLE "workflow" ADD COLUMN     "slug" TEXT NOT NULL DEFAULT (gen_random_uuid())::text;

WITH plain AS (
  SELECT workspace_id, id, deleted_at, regexp_replace(left(regexp_replace(regexp_replace(
      lower(regexp_replace(normalize(name, NFKD), '[\u0300-\u036F\u1AB0-\u1AFF\u1DC0-\u1DFF\u20D0-\u20FF\uFE20-\uFE2F]', '', 'g')),
      '[^a-z0-9_]+', '-', 'g'), '^[-_]+|[-_]+$', '', 'g'), 48), '^[-_]+|[-_]+$', '', 'g') AS slug
    FROM workflow),
ranked AS (
  SELECT *, row_number() OVER (PARTITION BY workspace_id, slug ORDER BY deleted_at IS NOT NULL, id) AS place FROM plain)
UPDATE workflow w SET slug = CASE WHEN r.slug = '' THEN 'workflow-' || right(r.id::text, 6)
         WHEN r.place = 1 AND r.deleted_at IS NULL THEN r.slug ELSE r.slug || '-' || right(r.id::text, 6) END
  FROM ranked r WHERE w.workspace_id = r.workspace_id AND w.id = r.id;

-- A name that looks like such a piece.
UPDATE workflow w SET slug = 'workflow-' || w.id WHERE EXISTS (
  SELECT 1 FROM workflow o WHERE o.workspace_id = w.workspace_id AND o.slug = w.slug AND o.id < w.id);

-- A deleted workflow keeps its row; its slug is free again.
CREATE UNIQUE INDEX workflow_slug ON workflow (workspace_id, slug) WHERE deleted_at IS NULL;
