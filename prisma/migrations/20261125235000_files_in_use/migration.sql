-- On the reviewed list of SECURITY DEFINER functions (see the identity migration). Row-level security lets no index be entered by
-- an operator that is not leakproof, and those of jsonb are not; so this function stands outside the policy and keeps it itself: the workspace
-- is that of the transaction.
--
-- Those of p_hashes that a message of the workspace refers to, found with the index message_files.
CREATE FUNCTION files_in_messages(p_hashes text[]) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off SET enable_bitmapscan = on AS $$
DECLARE
  ws CONSTANT uuid := nullif(current_setting('app.workspace', true), '')::uuid;
  wanted text;
BEGIN
  FOREACH wanted IN ARRAY p_hashes LOOP
    -- IS TRUE: the workspace is to be checked on rows, not to bring in other indexes.
    IF EXISTS (SELECT FROM public.message m WHERE m.content @> '[{"type": "file"}]'
        AND m.content @> jsonb_build_array(jsonb_build_object('type', 'file', 'file', jsonb_build_object('file_id', wanted)))
        AND (m.workspace_id = ws) IS TRUE) THEN
      RETURN NEXT wanted;
    END IF;
  END LOOP;
END $$;

ALTER FUNCTION files_in_messages(text[]) OWNER TO nightshift_owner;
REVOKE ALL ON FUNCTION files_in_messages(text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION files_in_messages(text[]) TO nightshift_api;
