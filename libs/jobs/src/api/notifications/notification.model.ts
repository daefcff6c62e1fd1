import { Field, ID, ObjectType } from '@nestjs/graphql';

import { connectionOf, DateTime } from '#platform/api';

import { NotificationTypeEnum } from './notification.enums.js';

/** One user notification. `NotificationFieldsResolver` adds the computed fields. */
@ObjectType('Notification', {
  description: "An event of the user's job that no viewer saw live, or a disabled webhook endpoint.",
})
export class NotificationModel {
  @Field(() => ID, { description: 'Its id, for `markNotificationRead`.' })
  id!: string;

  @Field(() => NotificationTypeEnum, { description: 'What happened.' })
  type!: string;

  @Field(() => ID, {
    nullable: true,
    description: 'The job that ended, or the job or sub-job that waits. Null for `ENDPOINT_DISABLED`.',
  })
  jobId!: string | null;

  @Field(() => ID, {
    nullable: true,
    description: 'The root job. Equals `jobId` unless that job is a sub-job. Null for `ENDPOINT_DISABLED`.',
  })
  rootJobId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The thread of the root job (server id).' })
  threadId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The request, for `INPUT_NEEDED`. Null for other types.' })
  interruptId!: string | null;

  @Field(() => ID, {
    nullable: true,
    description: 'The disabled webhook endpoint, for `ENDPOINT_DISABLED`. Null for other types.',
  })
  endpointId!: string | null;

  @Field(() => String, {
    description:
      'For a request, its title; for a job, the title of its thread or workflow; for an endpoint, its description or host. May be empty.',
  })
  title!: string;

  @Field(() => DateTime, { nullable: true, description: 'When it was read; null: not yet.' })
  readAt!: number | null;
}

/** A page of notifications. */
export const NotificationConnection = connectionOf(NotificationModel, 'Notification');
