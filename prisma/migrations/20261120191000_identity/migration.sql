-- Identity: what must be known before a workspace is. The API's role is shut in the workspace of its transaction; to learn
-- which workspaces a credential opens, it asks these functions and nothing else. They run as nightshift_owner (whose
-- policies see every row), so each answers one narrow question, pins its search_path, names its tables in full, and is
-- granted to nightshift_api alone.
--
-- The reviewed list of SECURITY DEFINER functions (a db-spec compares it with the database):
--   identity_key(text)                                one API key by its public prefix, with its user's present role
--   identity_memberships(uuid)                        one user and the workspaces that user is a member of
--   identity_user_by_email(uuid, text, text)          the user of an address; made if unknown
--   identity_user_by_subject(uuid, text, text, text, text)  the user of a verified token; made or linked if unknown

CREATE FUNCTION identity_key(p_prefix text)
RETURNS TABLE (workspace_id uuid, id uuid, user_id uuid, hash bytea, scopes text[],
               expires_at timestamptz, revoked_at timestamptz, role text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT k.workspace_id, k.id, k.user_id, k.hash, k.scopes, k.expires_at, k.revoked_at, m.role
    FROM public.api_key k
    LEFT JOIN public.membership m ON m.workspace_id = k.workspace_id AND m.user_id = k.user_id
   WHERE k.prefix = p_prefix
$$;

-- One row per membership; a user without any still gives one row, with a null workspace.
CREATE FUNCTION identity_memberships(p_user uuid)
RETURNS TABLE (email text, name text, workspace_id uuid, workspace_name text, role text, created_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT u.email, u.name, w.id, w.name, m.role, m.created_at
    FROM public.app_user u
    LEFT JOIN public.membership m ON m.user_id = u.id
    LEFT JOIN public.workspace w ON w.id = m.workspace_id
   WHERE u.id = p_user
   ORDER BY w.id
$$;

-- p_email is lower-case. A known user is returned as it is, so that asking tells nothing and changes nothing.
CREATE FUNCTION identity_user_by_email(p_id uuid, p_email text, p_name text)
RETURNS uuid
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE found_id uuid;
BEGIN
  SELECT u.id INTO found_id FROM public.app_user u WHERE u.email = p_email;
  IF found_id IS NOT NULL THEN RETURN found_id; END IF;
  INSERT INTO public.app_user (id, email, name) VALUES (p_id, p_email, p_name) ON CONFLICT (email) DO NOTHING;
  SELECT u.id INTO found_id FROM public.app_user u WHERE u.email = p_email; -- ours, or that of whoever was faster
  RETURN found_id;
END $$;

-- p_email is lower-case and verified by the issuer, or null. Order of rules: (1) the pair (issuer, subject) is the user;
-- (2) a verified address claims the row an invitation made for it, if no token has claimed it yet; (3) a new user. An
-- address that belongs to another token is never taken over: the new user gets a placeholder instead (RFC 2606, .invalid).
CREATE FUNCTION identity_user_by_subject(p_id uuid, p_issuer text, p_subject text, p_email text, p_name text)
RETURNS uuid
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  found_id uuid;
  placeholder text := p_id::text || '@unverified.invalid';
BEGIN
  SELECT u.id INTO found_id FROM public.app_user u WHERE u.issuer = p_issuer AND u.subject = p_subject;
  IF found_id IS NOT NULL THEN RETURN found_id; END IF;
  -- First sight: one at a time per token subject, so that two first requests make one user.
  PERFORM pg_advisory_xact_lock(hashtextextended(p_issuer || chr(31) || p_subject, 20261120));
  SELECT u.id INTO found_id FROM public.app_user u WHERE u.issuer = p_issuer AND u.subject = p_subject;
  IF found_id IS NOT NULL THEN RETURN found_id; END IF;
  IF p_email IS NOT NULL THEN
    UPDATE public.app_user u SET issuer = p_issuer, subject = p_subject, name = coalesce(nullif(u.name, ''), p_name)
     WHERE u.email = p_email AND u.issuer IS NULL RETURNING u.id INTO found_id;
    IF found_id IS NOT NULL THEN RETURN found_id; END IF;
    INSERT INTO public.app_user (id, email, name, issuer, subject) VALUES (p_id, p_email, p_name, p_issuer, p_subject)
      ON CONFLICT (email) DO NOTHING RETURNING id INTO found_id;
    IF found_id IS NOT NULL THEN RETURN found_id; END IF;
  END IF;
  INSERT INTO public.app_user (id, email, name, issuer, subject) VALUES (p_id, placeholder, p_name, p_issuer, p_subject);
  RETURN p_id;
END $$;

DO $$
DECLARE f regprocedure;
BEGIN
  FOREACH f IN ARRAY ARRAY['identity_key(text)', 'identity_memberships(uuid)', 'identity_user_by_email(uuid,text,text)',
                           'identity_user_by_subject(uuid,text,text,text,text)']::regprocedure[] LOOP
    EXECUTE format('ALTER FUNCTION %s OWNER TO nightshift_owner', f);
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', f);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO nightshift_api', f);
  END LOOP;
END $$;
