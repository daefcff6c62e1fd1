import {
  PublishWorkflowDocument,
  SaveWorkflowDocument,
  WorkflowDraftDocument,
  WorkflowVersionDocument,
} from '@nightshift/client/operations';

import type { Comparison } from './comparison.js';
import { assertAccepted } from './refusal.js';
import { isObject, type Resource } from './resource.js';
import type { ServerState } from './server-state.js';

/** A workflow is as the file asks when its draft equals the file and that draft is the published version. */
export async function compareWorkflow({ client }: ServerState, resource: Resource): Promise<Comparison> {
  const { workflow } = await client.query(WorkflowDraftDocument, { id: resource.key });
  const number = workflow?.publishedVersion ?? null;
  const published =
    workflow === null || number === null
      ? null
      : (await client.query(WorkflowVersionDocument, { workflowId: workflow.id, number })).workflowVersion;
  const isPublished = published !== null && published.hash === workflow?.draftHash;
  const definition = isObject(workflow?.draft) ? workflow.draft : {};
  return {
    current: workflow === null ? null : { definition, published: isPublished },
    desired: { definition: resource.value, published: true },
    save: async () => {
      const target = workflow === null ? {} : { id: workflow.id, expectedVersion: workflow.draftVersion };
      const input = { ...target, definition: resource.value };
      const { saveWorkflow } = await client.mutate(SaveWorkflowDocument, { input });
      assertAccepted(resource, saveWorkflow);
      const saved = saveWorkflow.workflow;
      if (saved === null) throw new Error('the server saved no workflow and gave no reason');
      const publishing = { input: { id: saved.id, expectedVersion: saved.draftVersion } };
      assertAccepted(resource, (await client.mutate(PublishWorkflowDocument, publishing)).publishWorkflow);
    },
  };
}
