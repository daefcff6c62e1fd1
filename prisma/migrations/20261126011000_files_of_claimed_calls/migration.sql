-- A tool process reads the files whose hashes the arguments of its claimed calls contain, and no others.
GRANT SELECT (workspace_id, id, hash, mime, bytes, name, store) ON stored_file TO nightshift_tools;
CREATE POLICY tools_read ON stored_file FOR SELECT TO nightshift_tools USING (EXISTS (
  SELECT FROM tool_process.claimed_call c JOIN public.tool_call t ON t.workspace_id = c.workspace_id AND t.id = c.id
   WHERE c.workspace_id = stored_file.workspace_id
     AND strpos(coalesce(t.executed_arguments, t.approved_arguments, t.arguments), stored_file.hash) > 0));

-- The policy of stored_file applies to the subquery.
GRANT SELECT (workspace_id, file_id, number, data) ON file_chunk TO nightshift_tools;
CREATE POLICY tools_read ON file_chunk FOR SELECT TO nightshift_tools USING (EXISTS (
  SELECT FROM public.stored_file f WHERE f.workspace_id = file_chunk.workspace_id AND f.id = file_chunk.file_id));
