-- Workflows were tools under names that were computed otherwise than their ids as models: `_` became a hyphen, and one whose name
-- was taken had a piece of a hash behind it. Rules, grants, agents, nodes, clients and running jobs know them by these names, so
-- those that are offered keep theirs. Null: the tool is called by the slug.

ALTER TABLE "workflow" ADD COLUMN     "tool_slug" TEXT;

WITH offered AS (
  SELECT w.workspace_id, w.id, w.slug, left(encode(sha256(convert_to(w.id::text, 'UTF8')), 'hex'), 8) AS mark,
         CASE WHEN pg_input_is_valid(v.definition, 'jsonb') THEN v.definition::jsonb #>> '{meta,name}' ELSE w.name END AS name
    FROM workflow w JOIN workflow_version v
      ON v.workspace_id = w.workspace_id AND v.workflow_id = w.id AND v.number = w.published_version
   WHERE w.deleted_at IS NULL AND w.offered_as_tool),
plain AS (
  SELECT *, left(regexp_replace(regexp_replace(
      lower(regexp_replace(normalize(name, NFKD), '[\u0300-\u036F\u1AB0-\u1AFF\u1DC0-\u1DFF\u20D0-\u20FF\uFE20-\uFE2F]', '', 'g')),
      '[^a-z0-9]+', '-', 'g'), '^-|-$', '', 'g'), 55) AS said
    FROM offered),
named AS (
  SELECT workspace_id, id, slug, CASE WHEN said = '' THEN mark
      WHEN row_number() OVER (PARTITION BY workspace_id, said ORDER BY id) = 1 THEN said ELSE left(said, 46) || '-' || mark END AS called
    FROM plain)
UPDATE workflow w SET tool_slug = n.called
  FROM named n WHERE w.workspace_id = n.workspace_id AND w.id = n.id AND n.called <> n.slug;

-- Nobody else becomes a tool of such a name when it is offered.
UPDATE workflow w SET tool_slug = 'workflow-' || w.id
 WHERE w.deleted_at IS NULL AND NOT w.offered_as_tool AND EXISTS (
   SELECT 1 FROM workflow o WHERE o.workspace_id = w.workspace_id AND o.deleted_at IS NULL AND o.tool_slug = w.slug);
