import type { INestApplicationContext } from '@nestjs/common';

import type { MemberPrincipal } from '#auth';
import { StartWorkflowService, WorkflowsService } from '#workflows';

import type { JobStart } from './engine-client.js';

/** Publishes a workflow; gives what starts it. */
export async function publishWorkflow(
  app: INestApplicationContext,
  principal: MemberPrincipal,
  definition: object,
): Promise<JobStart> {
  const workflows = app.get(WorkflowsService);
  const { id } = await workflows.save(principal, { id: null, definition, expectedVersion: null });
  await workflows.publish(principal, id);
  return async (_, starter) => {
    const { jobId } = await app.get(StartWorkflowService).start(starter, {
      ...{
        workflowRef: id,
        version: null,
        prompt: 'Hello',
        threadRef: null,
        createThread: false,
        messageClientId: null,
      },
      ...{
        history: [],
        attachments: [],
        whenBusy: null,
        idempotency: null,
        providerKey: null,
        known: {},
        resumeFrom: null,
      },
    });
    return jobId;
  };
}
