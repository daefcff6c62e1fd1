import { ArgsType, Field, ID, InputType, Int, ObjectType } from '@nestjs/graphql';

import { connectionOf, DateTime, defineEnum, Json, payloadOf, UserError } from '#platform/api';

import type { TriggerEventType } from '../inbound/trigger-definition.js';
import type { RunStatus } from '../inbound/trigger-runs.repository.js';

export const TriggerOriginEnum = defineEnum('TriggerOrigin', 'Where a trigger was saved.', {
  API: ['api', 'By `saveTrigger`.'],
  FILE: ['file', 'In a trigger file (`TRIGGERS_PATH`). It can be changed only there.'],
});
export const TriggerRunStatusEnum = defineEnum('TriggerRunStatus', 'The status of a run of a trigger.', {
  DUE: ['due', 'Its job has not started. `tryAt` is the time of the next attempt; `error`, why the last one failed.'],
  STARTED: ['started', 'Its job was started.'],
  FAILED: ['failed', 'It failed and started no job: see `error`.'],
  CANCELLED: ['cancelled', 'It was cancelled before its job started (`cancelTriggerRun`).'],
});
export const TriggerEventEnum = defineEnum('TriggerEvent', 'What happened to a document.', {
  CREATE: ['create', 'It was created.'],
  UPDATE: ['update', 'It was changed.'],
  DELETE: ['delete', 'It was deleted.'],
});

@ObjectType({ description: 'The error of a run, or of its last attempt to start a job.' })
export class TriggerRunError {
  @Field(() => String, { description: 'An error code such as `job_limit_reached`.' })
  code!: string;

  @Field(() => String, { description: 'The message for people.' })
  message!: string;

  @Field(() => Boolean, { description: 'Whether a later attempt may succeed without a change.' })
  retryable!: boolean;
}

@ObjectType('TriggerRun', { description: 'The start of one job by a trigger, for one request or change.' })
export class TriggerRunModel {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => TriggerRunStatusEnum, { description: 'Its status.' })
  status!: RunStatus;

  @Field(() => ID, {
    nullable: true,
    description: 'The job that it started. The job may have been deleted since then.',
  })
  jobId!: string | null;

  @Field(() => TriggerRunError, {
    nullable: true,
    description: 'Why it failed, or why the last attempt to start its job failed.',
  })
  error!: TriggerRunError | null;

  @Field(() => DateTime, {
    nullable: true,
    description: 'The time of the next attempt to start its job. Null: the run has ended.',
  })
  tryAt!: number | null;

  @Field(() => DateTime, { description: 'When the request or change was accepted.' })
  createdAt!: number;
}

@ArgsType()
export class TriggerRunsArgs {
  @Field(() => Int, { defaultValue: 10, description: 'How many: 1 to 100.' })
  count!: number;

  @Field(() => TriggerRunStatusEnum, {
    nullable: true,
    description: 'Only runs with this status.',
  })
  status?: RunStatus | null;
}

/** A trigger. Its fields are read from the definition by `TriggersResolver`. */
@ObjectType('Trigger', {
  description:
    'Starts a job or sends a request when a document changes, or starts a job when a signed request arrives.',
})
export class TriggerModel {
  @Field(() => ID, {
    description: 'Its id. A trigger with the source `webhook` receives requests at `POST /hooks/<id>`.',
  })
  id!: string;

  @Field(() => TriggerOriginEnum, { description: 'Where it was saved.' })
  origin!: 'api' | 'file';

  @Field(() => Boolean, {
    description: 'Whether it is enabled. A disabled trigger ignores changes and refuses requests with 401.',
  })
  enabled!: boolean;

  @Field(() => Json, { description: 'The fields of docs/triggers.md. Durations are numbers of milliseconds.' })
  definition!: unknown;

  @Field(() => String, {
    description: 'The member or API key that saved it, as `user:<id>` or `key:<id>`. Its jobs start with these rights.',
  })
  savedBy!: string;

  @Field(() => Int, { description: 'How often its condition was true.' })
  fired!: number;

  @Field(() => Int, { description: 'How many times its condition could not be evaluated, or a run failed.' })
  failed!: number;

  @Field(() => DateTime, { nullable: true, description: 'When it fired last.' })
  lastFiredAt!: number | null;

  @Field(() => String, { nullable: true, description: 'The reason of the last failure that `failed` counts.' })
  lastError!: string | null;

  @Field(() => DateTime, { nullable: true, description: 'When it failed last.' })
  lastErrorAt!: number | null;

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: number;

  @Field(() => DateTime, { description: 'When it was last saved.' })
  savedAt!: number;
}

export const TriggerConnection = connectionOf(TriggerModel, 'Trigger');

export const TriggerPayload = payloadOf({
  name: 'TriggerPayload',
  description: 'The trigger after the change (before it, if deleted), or the reasons why nothing changed.',
  fields: { trigger: [TriggerModel, 'The trigger.'] },
});

@ObjectType({ description: 'A file of the workspace that a trigger would attach.' })
export class TriggerMatchAttachment {
  @Field(() => String, { description: 'The hash of its content.' })
  hash!: string;

  @Field(() => String, { description: 'The media type in the value of `start.attachments`.' })
  mime!: string;

  @Field(() => String, { nullable: true, description: 'Its name for the model. Null: the name of its upload.' })
  name?: string | null;
}

export const TriggerRunPayload = payloadOf({
  name: 'TriggerRunPayload',
  description: 'The run after the change, or the reasons why nothing changed.',
  fields: { run: [TriggerRunModel, 'The run.'] },
});

@ObjectType({ description: 'A definition as it would be saved, or the reasons why it would not.' })
export class TriggerValidation {
  @Field(() => Json, {
    nullable: true,
    description: 'The definition with all defaults; durations are numbers of milliseconds. Null: it is invalid.',
  })
  definition?: unknown;

  @Field(() => [UserError], { description: 'Why it is invalid.' })
  userErrors!: UserError[];
}

@ObjectType({ description: 'The input of the job that a trigger would start.' })
export class TriggerMatchInput {
  @Field(() => String, { description: 'The prompt.' })
  prompt!: string;

  @Field(() => String, {
    nullable: true,
    description: 'The id that the expression gives to the thread. Null: a new thread.',
  })
  thread!: string | null;

  @Field(() => [TriggerMatchAttachment], {
    description: 'The files that the job would get. Whether the workspace has them is checked when the job starts.',
  })
  attachments!: readonly TriggerMatchAttachment[];
}

@ObjectType('TriggerMatch', {
  description: 'What a trigger would do for an event that matches its source, database and collection.',
})
export class TriggerMatchModel {
  @Field(() => TriggerModel, { description: 'The trigger.' })
  trigger!: TriggerModel;

  @Field(() => Boolean, { description: 'Whether its conditions are true.' })
  fires!: boolean;

  @Field(() => String, {
    nullable: true,
    description: 'Why its condition, or an expression of `start`, could not be evaluated.',
  })
  problem!: string | null;

  @Field(() => Json, {
    nullable: true,
    description: 'The body of the request that the trigger would send. Null: it would send none.',
  })
  delivery!: unknown;

  @Field(() => TriggerMatchInput, {
    nullable: true,
    description: 'The input of the job that it would start. Null: it would start none.',
  })
  input!: TriggerMatchInput | null;
}

@InputType({ description: 'A trigger to save.' })
export class SaveTriggerInput {
  @Field(() => Json, {
    description: 'The fields of docs/triggers.md. A trigger with the same `database` and `triggerId` is replaced.',
  })
  definition!: unknown;

  @Field(() => Boolean, {
    defaultValue: true,
    description: 'Whether it is enabled. A disabled trigger ignores changes and refuses requests with 401.',
  })
  enabled!: boolean;
}

@InputType({ description: 'A trigger to turn on or off.' })
export class SetTriggerEnabledInput {
  @Field(() => ID, { description: 'The trigger.' })
  id!: string;

  @Field({ description: 'Whether it fires.' })
  enabled!: boolean;
}

@InputType({ description: 'A trigger to delete.' })
export class DeleteTriggerInput {
  @Field(() => ID, { description: 'The trigger.' })
  id!: string;
}

@InputType({ description: 'A run to cancel.' })
export class CancelTriggerRunInput {
  @Field(() => ID, { description: 'The run.' })
  id!: string;
}

@InputType({
  description:
    'An event with which to test triggers: with `type`, a change of a document; without it, a request to `/hooks/<id>`.',
})
export class TestTriggerInput {
  @Field(() => String, { defaultValue: 'default', description: 'The database.' })
  database!: string;

  @Field(() => String, { nullable: true, description: 'Only the trigger with this `triggerId`.' })
  triggerId?: string | null;

  @Field(() => TriggerEventEnum, {
    nullable: true,
    description: 'What happened to the document. Absent: the event is a request to `/hooks/<id>`.',
  })
  type?: TriggerEventType | null;

  @Field(() => String, { nullable: true, description: 'The collection of the document. Required with `type`.' })
  collection?: string | null;

  @Field(() => String, { nullable: true, description: 'The id of the document.' })
  documentId?: string | null;

  @Field(() => Json, {
    nullable: true,
    description: 'The document after the change, or the body of the request: an object.',
  })
  document?: unknown;

  @Field(() => Json, { nullable: true, description: 'The document before the change: an object.' })
  before?: unknown;
}
