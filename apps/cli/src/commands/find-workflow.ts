import type { Nightshift } from '@nightshift/client';
import { WorkflowsDocument, type WorkflowsQuery } from '@nightshift/client/operations';

import { notFound } from '../cli.errors.js';
import { type FoundWorkflow, workflowDocument } from '../operations.js';

/** By what its user has of it: our id, the id of its document, its slug, or its name. Throws `not_found`. */
export async function findWorkflow(client: Nightshift, given: string): Promise<FoundWorkflow> {
  const { workflow } = await client.query(workflowDocument, { id: given });
  if (workflow !== null) return workflow;
  const wanted = slugOf(given.replace(/^workflow[/.]/, ''));
  let byName: FoundWorkflow | undefined;
  let after: string | undefined;
  do {
    const { workflows }: WorkflowsQuery = await client.query(WorkflowsDocument, { first: 100, after });
    const found = workflows.nodes.find(({ slug }) => slug === wanted);
    if (found !== undefined) return found;
    byName ??= workflows.nodes.find(({ name }) => slugOf(name) === wanted);
    after = workflows.pageInfo.hasNextPage ? (workflows.pageInfo.endCursor ?? undefined) : undefined;
  } while (after !== undefined);
  if (byName !== undefined) return byName;
  throw notFound(`Workflow ${given}`, (command) => `List the workflows: ${command('workflows list')}`);
}

function slugOf(name: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  return plain.replace(/[^a-z0-9_]+/g, '-').replace(/^[-_]+|[-_]+$/g, '');
}
