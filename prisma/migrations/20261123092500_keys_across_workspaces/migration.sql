-- A key that creates a workspace makes the first key there, so the keys made with one key may be in several workspaces. Ids are unique
-- across workspaces. The API's role sees one workspace, so these two functions cross the border; both run as nightshift_owner.
CREATE INDEX "api_key_made_by_idx" ON "api_key"("made_by");
DROP INDEX "api_key_workspace_id_made_by_idx";

-- Whether a key is revoked or absent: asked for the maker of a key in another workspace.
CREATE FUNCTION identity_key_revoked(p_workspace uuid, p_id uuid)
RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT NOT EXISTS (
    SELECT 1 FROM public.api_key k WHERE k.workspace_id = p_workspace AND k.id = p_id AND k.revoked_at IS NULL)
$$;

-- Revokes a key and the keys made with it, directly or by one of those, in all workspaces. Returns those that were still valid.
CREATE FUNCTION identity_revoke_key(p_workspace uuid, p_id uuid, p_at timestamptz)
RETURNS TABLE (workspace_id uuid, id uuid)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  WITH RECURSIVE made AS (
    SELECT k.workspace_id, k.id FROM public.api_key k WHERE k.workspace_id = p_workspace AND k.id = p_id
    UNION SELECT k.workspace_id, k.id FROM public.api_key k JOIN made ON k.made_by = made.id)
  UPDATE public.api_key k SET revoked_at = p_at
    FROM made WHERE k.workspace_id = made.workspace_id AND k.id = made.id AND k.revoked_at IS NULL
  RETURNING k.workspace_id, k.id
$$;

DO $$
DECLARE f regprocedure;
BEGIN
  FOREACH f IN ARRAY ARRAY['identity_key_revoked(uuid,uuid)', 'identity_revoke_key(uuid,uuid,timestamptz)']::regprocedure[] LOOP
    EXECUTE format('ALTER FUNCTION %s OWNER TO nightshift_owner', f);
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', f);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO nightshift_api', f);
  END LOOP;
END $$;
