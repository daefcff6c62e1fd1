import { Field, ID, InputType, Int } from '@nestjs/graphql';

import type { WhenBusy } from '#jobs';

import { Json } from '../graphql/scalars/json.scalar.js';
import { WhenBusyEnum } from '../jobs/job.enums.js';

const definitionText =
  'The document (docs/workflows.md): an object, or its JSON text, which is kept byte for byte. At most 1 MiB.';
const expectedText =
  'The `draftVersion` that the change was made from: when somebody has saved meanwhile it is refused (`workflow_changed`). Absent: it replaces what there is.';
const keyText =
  'Makes the start repeatable: the same key and input give the same job, whenever. 1 to 255 visible ASCII characters.';

@InputType({ description: 'A draft to save.' })
export class SaveWorkflowInput {
  @Field(() => ID, { nullable: true, description: 'The workflow; absent: a new one.' })
  id?: string | null;

  @Field(() => Json, { description: definitionText })
  definition!: unknown;

  @Field(() => Int, { nullable: true, description: expectedText })
  expectedVersion?: number | null;
}

@InputType({ description: 'A document of another system.' })
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

  @Field(() => Int, { nullable: true, description: expectedText })
  expectedVersion?: number | null;
}

@InputType({ description: 'Whether models may call a workflow.' })
export class OfferWorkflowInput {
  @Field(() => ID, { description: 'The workflow.' })
  id!: string;

  @Field(() => Boolean, { description: 'Whether what is published of it is one of the tools of the workspace.' })
  offered!: boolean;
}

@InputType({ description: 'A version to edit again.' })
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

@InputType({ description: 'Something that goes along with the prompt.' })
export class WorkflowAttachmentInput {
  @Field(() => String, { description: '`image`, `audio`, `video` or `file`.' })
  type!: string;

  @Field(() => String, { description: 'Where it is, or a `data:` URL.' })
  url!: string;

  @Field(() => String, { nullable: true, description: 'Its name.' })
  name?: string | null;

  @Field(() => String, { nullable: true, description: 'Its media type.' })
  mimeType?: string | null;
}

@InputType({ description: 'Which workflow to run, on what, and where.' })
export class StartWorkflowInput {
  @Field(() => ID, { description: "The workflow: our id, or its document's own." })
  workflowId!: string;

  @Field(() => Int, { nullable: true, description: 'A published version; absent: the one that is published now.' })
  version?: number | null;

  @Field(() => String, { description: 'What the user says: the input of the start node. At most 12,000 characters.' })
  prompt!: string;

  @Field(() => ID, {
    nullable: true,
    description:
      "The thread that shows it: our id, or the client's own, which begins a thread when it is new. Absent: none.",
  })
  threadId?: string | null;

  @Field(() => String, {
    nullable: true,
    description: "The client's id of the assistant message that will be written.",
  })
  clientMessageId?: string | null;

  @Field(() => Json, {
    nullable: true,
    description:
      'The conversation before the prompt: a list of `{"role":"user","content":"…"}`. At most 200 entries of 8,000 characters.',
  })
  history?: unknown;

  @Field(() => [WorkflowAttachmentInput], { nullable: true, description: 'At most 20.' })
  attachments?: WorkflowAttachmentInput[] | null;

  @Field(() => WhenBusyEnum, {
    nullable: true,
    description: "What to do when a job is active in the thread; absent: the thread's or workspace's setting.",
  })
  whenBusy?: WhenBusy | null;

  @Field(() => String, { nullable: true, description: keyText })
  idempotencyKey?: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'A provider key for this job only; stored encrypted, erased when the job ends.',
  })
  providerKey?: string | null;
}

@InputType({ description: 'From where to run an ended workflow job again.' })
export class RerunFromNodeInput {
  @Field(() => ID, { description: 'A workflow job that has ended.' })
  jobId!: string;

  @Field(() => String, { description: 'A node of the top that it had reached. It and all behind it run again.' })
  nodeId!: string;

  @Field(() => String, { nullable: true, description: 'What the node reads instead of what it read.' })
  editedInput?: string | null;

  @Field(() => String, { nullable: true, description: keyText })
  idempotencyKey?: string | null;
}
