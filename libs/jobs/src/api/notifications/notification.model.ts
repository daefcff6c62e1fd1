import { Field, ID, ObjectType } from '@nestjs/graphql';

import { connectionOf, DateTime } from '#platform/api';

import { NotificationTypeEnum } from './notification.enums.js';

/** One user notification. `NotificationFieldsResolver` adds the computed fields. */
@ObjectType('Notification', { description: "An event of the user's job that no viewer saw live." })
export class NotificationModel {
  @Field(() => ID, { description: 'Its id, for `markNotificationRead`.' })
  id!: string;

  @Field(() => NotificationTypeEnum, { description: 'What happened.' })
  type!: string;

  @Field(() => ID, { description: 'The job that ended or waits. A waiting one may be a sub-job.' })
  jobId!: string;

  @Field(() => ID, { description: 'The root job. Equals `jobId` unless that job is a sub-job.' })
  rootJobId!: string;

  @Field(() => ID, { nullable: true, description: 'The thread of the root job (server id).' })
  threadId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The request that waits for a person. Null: the job ended.' })
  interruptId!: string | null;

  @Field(() => String, {
    description: 'The title of the request, else of the thread or the workflow. May be empty.',
  })
  title!: string;

  @Field(() => DateTime, { nullable: true, description: 'When it was read; null: not yet.' })
  readAt!: number | null;
}

/** A page of notifications. */
export const NotificationConnection = connectionOf(NotificationModel, 'Notification');
