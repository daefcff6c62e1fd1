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
    description: 'The job that ended or waits. A waiting one may be a sub-job. Null: it is about an endpoint.',
  })
  jobId!: string | null;

  @Field(() => ID, {
    nullable: true,
    description: 'The root job. Equals `jobId` unless that job is a sub-job.',
  })
  rootJobId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The thread of the root job (server id).' })
  threadId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The request that waits for a person. Null: there is none.' })
  interruptId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The webhook endpoint that was disabled.' })
  endpointId!: string | null;

  @Field(() => String, {
    description:
      'The title of the request, else of the thread or the workflow; of an endpoint its description or host. May be empty.',
  })
  title!: string;

  @Field(() => DateTime, { nullable: true, description: 'When it was read; null: not yet.' })
  readAt!: number | null;
}

/** A page of notifications. */
export const NotificationConnection = connectionOf(NotificationModel, 'Notification');
