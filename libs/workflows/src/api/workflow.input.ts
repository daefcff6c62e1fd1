import { Field, ID, InputType, Int } from '@nestjs/graphql';

import { WhenBusyEnum } from '#auth/api';
import type { WhenBusy } from '#jobs';
import { ProviderDownActionEnum } from '#jobs/api';
import { DateTime, Json } from '#platform/api';

const definitionText =
  'The document (docs/workflow-definitions.md): an object, or its JSON text, which is kept byte for byte. At most 1 MiB.';
const expectedText =
  'The `draftVersion` that the change is based on. If another save came first, the change is refused (`workflow_changed`). Absent: the change overwrites the draft.';
const keyText =
  'Makes the start idempotent: the same key and input return the same job. 1 to 255 visible ASCII characters.';

@InputType({ description: 'A draft to save.' })
export class SaveWorkflowInput {
  @Field(() => ID, { nullable: true, description: 'The workflow. Absent: a new one.' })
  id?: string | null;

  @Field(() => Json, { description: definitionText })
  definition!: unknown;

  @Field(() => Int, { nullable: true, description: expectedText })
  expectedVersion?: number | null;
}

@InputType({ description: 'A workflow document of another system.' })
export class ImportWorkflowInput {
  @Field(() => Json, { description: definitionText })
  definition!: unknown;

  @Field(() => Int, { nullable: true, description: expectedText })
  expectedVersion?: number | null;
}

@InputType({ description: 'A draft to publish.' })
export class PublishWorkflowInput {
  @Field(() => ID, { description: 'The workflow.' })
  id!: string;

  @Field(() => Int, {
    nullable: true,
    description:
      'The `draftVersion` that you reviewed. If the draft was saved since then, nothing is published (`workflow_changed`). Absent: the current draft is published.',
  })
  expectedVersion?: number | null;
}

@InputType({ description: 'Whether a workflow is offered to models.' })
export class OfferWorkflowInput {
  @Field(() => ID, { description: 'The workflow.' })
  id!: string;

  @Field(() => Boolean, { description: 'Whether its published version is a tool of the workspace.' })
  offered!: boolean;
}

@InputType({ description: 'The version to copy to the draft.' })
export class RestoreWorkflowInput {
  @Field(() => ID, { description: 'The workflow.' })
  id!: string;

  @Field(() => Int, { description: 'The version whose text becomes the draft.' })
  version!: number;

  @Field(() => Int, { nullable: true, description: expectedText })
  expectedVersion?: number | null;
}

@InputType({ description: 'A workflow to delete.' })
export class DeleteWorkflowInput {
  @Field(() => ID, { description: 'The workflow.' })
  id!: string;
}

@InputType({ description: 'An attachment of the prompt.' })
export class WorkflowAttachmentInput {
  @Field(() => String, {
    nullable: true,
    description: 'The hash of a file of the workspace (`POST /api/files`). Set either this or `url`.',
  })
  hash?: string | null;

  @Field(() => String, { nullable: true, description: 'With `hash`: the media type that the upload returned.' })
  mime?: string | null;

  @Field(() => String, { nullable: true, description: 'With `url`: `image`, `audio`, `video` or `file`.' })
  type?: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'Its URL, or a `data:` URL, whose content is stored as a file of the workspace.',
  })
  url?: string | null;

  @Field(() => String, { nullable: true, description: 'Its name.' })
  name?: string | null;

  @Field(() => String, { nullable: true, description: 'With `url`: its media type.' })
  mimeType?: string | null;
}

@InputType({ description: 'The workflow, its input, and its thread.' })
export class StartWorkflowInput {
  @Field(() => ID, { description: 'The workflow: server id, or the id of its document.' })
  workflowId!: string;

  @Field(() => Int, { nullable: true, description: 'A version number. Absent: the currently published version.' })
  version?: number | null;

  @Field(() => String, { description: 'The input of the start node, at most 12,000 characters.' })
  prompt!: string;

  @Field(() => ID, {
    nullable: true,
    description:
      "The thread that shows the job: server id, or the client's own id, which creates a thread if it is new. Absent: none.",
  })
  threadId?: string | null;

  @Field(() => String, {
    nullable: true,
    description: "The client's id for the assistant message of the job.",
  })
  clientMessageId?: string | null;

  @Field(() => Json, {
    nullable: true,
    description:
      'The conversation before the prompt: a list of `{"role":"user","content":"…"}`. At most 200 entries of 8,000 characters.',
  })
  history?: unknown;

  @Field(() => [WorkflowAttachmentInput], { nullable: true, description: 'The attached files, at most 20.' })
  attachments?: WorkflowAttachmentInput[] | null;

  @Field(() => Int, {
    nullable: true,
    description:
      'For how long, in ms, failed model requests are retried with a backoff of at most about one minute: 0 to 604,800,000. After that, the backoff grows to at most ten minutes, until a request succeeds or the job fails. Absent: the setting of each agent, else of the installation.',
  })
  modelRetryForMs?: number | null;

  @Field(() => ProviderDownActionEnum, {
    nullable: true,
    description:
      'What the job does while its model provider is down. Absent: the setting of each agent, else of the installation.',
  })
  onProviderDown?: 'wait' | 'fail' | null;

  @Field(() => WhenBusyEnum, {
    nullable: true,
    description: 'What to do when a job is active in the thread. Absent: the setting of the thread or workspace.',
  })
  whenBusy?: WhenBusy | null;

  @Field(() => DateTime, {
    nullable: true,
    description:
      'When the job begins, at most 366 days ahead; the job is accepted immediately and runs the version that is published now. Absent or past: the job begins at once.',
  })
  startAt?: number | null;

  @Field(() => Json, {
    nullable: true,
    description:
      'Key-value pairs of text, for filters and hooks: `{"team":"billing"}`. At most 16; keys of 1 to 64 and values of at most 512 characters.',
  })
  labels?: unknown;

  @Field(() => String, { nullable: true, description: keyText })
  idempotencyKey?: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'A provider key for this job only, stored encrypted and deleted when the job ends.',
  })
  providerKey?: string | null;
}

@InputType({ description: 'An ended workflow job and the node to run it again from.' })
export class RerunFromNodeInput {
  @Field(() => ID, { description: 'A workflow job that has ended.' })
  jobId!: string;

  @Field(() => String, { description: 'A top-level node that the job had reached. It and all later nodes run again.' })
  nodeId!: string;

  @Field(() => String, { nullable: true, description: 'The input for the node, replacing the original one.' })
  editedInput?: string | null;

  @Field(() => String, { nullable: true, description: keyText })
  idempotencyKey?: string | null;
}
