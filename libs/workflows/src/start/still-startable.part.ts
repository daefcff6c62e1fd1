import { type CommitPart, type JobRef, type PartRow, partRow } from '#jobs';
import { isId, toStorableText } from '#platform';

import type { StartableVersion, StartRef } from './startable-versions.repository.js';

/** Checks that the workflows of new jobs exist, have the client's id that the starts named, and publish these versions. */
const stillStartablePart: CommitPart<
  readonly [workspaceId: string, jobId: string, id: string, clientId: string | null, published: number | null]
> = {
  name: 'startable',
  columns: [
    ['workspace_id', 'uuid'],
    ['job_id', 'uuid'],
    ['workflow_id', 'uuid'],
    ['client_id', 'text'],
    ['published_version', 'int'],
  ],
  sql: (rows) => `SELECT f.id FROM ${rows} r
    JOIN workflow f ON f.workspace_id = r.workspace_id AND f.id = r.workflow_id AND f.deleted_at IS NULL
     AND (r.client_id IS NULL OR f.client_id = r.client_id)
     AND (r.published_version IS NULL OR f.published_version = r.published_version)`,
};

/** The condition of a start that `ref` names the version `found` now. */
export function stillStartable({ ref, version }: StartRef, found: StartableVersion): (job: JobRef) => PartRow {
  const clientId = isId(ref) && ref.toLowerCase() === found.id ? null : toStorableText(ref);
  const published = version === null ? found.version : null;
  return ({ workspaceId, jobId }) => partRow(stillStartablePart, [workspaceId, jobId, found.id, clientId, published]);
}
