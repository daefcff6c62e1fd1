-- Invitations. A row is an open offer of one role to one address; accepting, declining and revoking delete it, and the audit keeps
-- the history. The membership of the inviter owns the row: when the inviter leaves, their offers end.
CREATE TABLE "invitation" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "email" TEXT NOT NULL,
    "role" TEXT NOT NULL,
    "invited_by" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "invitation_pkey" PRIMARY KEY ("workspace_id","id")
);

-- CreateIndex
CREATE UNIQUE INDEX "invitation_workspace_id_email_key" ON "invitation"("workspace_id", "email");

-- CreateIndex
CREATE INDEX "invitation_email_id_idx" ON "invitation"("email", "id");

-- AddForeignKey
ALTER TABLE "invitation" ADD CONSTRAINT "invitation_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "invitation" ADD CONSTRAINT "invitation_workspace_id_invited_by_fkey" FOREIGN KEY ("workspace_id", "invited_by") REFERENCES "membership"("workspace_id", "user_id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE invitation ADD CONSTRAINT invitation_role_check CHECK (role IN ('owner', 'admin', 'member', 'viewer'));
ALTER TABLE invitation ENABLE ROW LEVEL SECURITY;
ALTER TABLE invitation FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON invitation TO nightshift_api
  USING (workspace_id = nullif(current_setting('app.workspace', true), '')::uuid)
  WITH CHECK (workspace_id = nullif(current_setting('app.workspace', true), '')::uuid);
CREATE POLICY owner ON invitation TO nightshift_owner USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON invitation TO nightshift_api;
ALTER TABLE invitation OWNER TO nightshift_owner;

-- Which API key made this one: revoking a key also revokes the keys it made. No foreign key: a key that made others is never deleted.
ALTER TABLE "api_key" ADD COLUMN "made_by" UUID;
CREATE INDEX "api_key_workspace_id_made_by_idx" ON "api_key"("workspace_id", "made_by");

-- The open invitations of one address, across workspaces, newest first. The caller passes an address that the token issuer has verified.
-- p_id: only this one. p_now: the caller's clock, by which expiry is judged.
CREATE FUNCTION identity_invitations(p_email text, p_id uuid, p_after uuid, p_take int, p_now timestamptz)
RETURNS TABLE (workspace_id uuid, workspace_name text, id uuid, role text, invited_by text, created_at timestamptz, expires_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT i.workspace_id, w.name, i.id, i.role, u.email, i.created_at, i.expires_at
    FROM public.invitation i
    JOIN public.workspace w ON w.id = i.workspace_id
    JOIN public.app_user u ON u.id = i.invited_by
   WHERE i.email = p_email AND i.expires_at > p_now
     AND (p_id IS NULL OR i.id = p_id) AND (p_after IS NULL OR i.id < p_after)
   ORDER BY i.id DESC
   LIMIT least(greatest(p_take, 1), 101)
$$;

-- Addresses below nightshift.local belong to users that this installation makes for itself, such as the demo user. A token never
-- claims one of them, whatever its issuer says: p_email counts as unverified. The other rules are those of the identity migration.
CREATE OR REPLACE FUNCTION identity_user_by_subject(p_id uuid, p_issuer text, p_subject text, p_email text, p_name text)
RETURNS uuid
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  found_id uuid;
  placeholder text := p_id::text || '@unverified.invalid';
  verified text := CASE WHEN p_email LIKE '%@nightshift.local' THEN NULL ELSE p_email END;
BEGIN
  SELECT u.id INTO found_id FROM public.app_user u WHERE u.issuer = p_issuer AND u.subject = p_subject;
  IF found_id IS NOT NULL THEN RETURN found_id; END IF;
  -- One transaction at a time per token subject, so that two first requests make one user.
  PERFORM pg_advisory_xact_lock(hashtextextended(p_issuer || chr(31) || p_subject, 20261120));
  SELECT u.id INTO found_id FROM public.app_user u WHERE u.issuer = p_issuer AND u.subject = p_subject;
  IF found_id IS NOT NULL THEN RETURN found_id; END IF;
  IF verified IS NOT NULL THEN
    UPDATE public.app_user u SET issuer = p_issuer, subject = p_subject, name = coalesce(nullif(u.name, ''), p_name)
     WHERE u.email = verified AND u.issuer IS NULL RETURNING u.id INTO found_id;
    IF found_id IS NOT NULL THEN RETURN found_id; END IF;
    INSERT INTO public.app_user (id, email, name, issuer, subject) VALUES (p_id, verified, p_name, p_issuer, p_subject)
      ON CONFLICT (email) DO NOTHING RETURNING id INTO found_id;
    IF found_id IS NOT NULL THEN RETURN found_id; END IF;
  END IF;
  INSERT INTO public.app_user (id, email, name, issuer, subject) VALUES (p_id, placeholder, p_name, p_issuer, p_subject);
  RETURN p_id;
END $$;
UPDATE app_user SET issuer = NULL, subject = NULL WHERE email LIKE '%@nightshift.local';

DO $$
DECLARE f regprocedure := 'identity_invitations(text,uuid,uuid,int,timestamptz)';
BEGIN
  EXECUTE format('ALTER FUNCTION %s OWNER TO nightshift_owner', f);
  EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', f);
  EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO nightshift_api', f);
END $$;
