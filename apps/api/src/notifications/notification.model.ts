import { Field, ID, ObjectType } from '@nestjs/graphql';

import { connectionOf } from '../graphql/connections/connection.model.js';
import { DateTime } from '../graphql/scalars/date-time.scalar.js';
import { NotificationTypeEnum } from './notification.enums.js';

/** One thing that one was told. What is computed is added by `NotificationFieldsResolver`. */
@ObjectType('Notification', { description: 'Something that happened to a job of yours while nobody watched it.' })
export class NotificationModel {
  @Field(() => ID, { description: 'The id it is marked as read by.' })
  id!: string;

  @Field(() => NotificationTypeEnum, { description: 'What happened.' })
  type!: string;

  @Field(() => ID, { description: 'The job that has ended, or that asks; the latter may be a sub-job.' })
  jobId!: string;

  @Field(() => ID, { description: 'The job that a person started: the same one, unless that one is a sub-job.' })
  rootJobId!: string;

  @Field(() => ID, { nullable: true, description: 'The thread of the root job (our id).' })
  threadId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The request that waits for a person; null: it is about an end.' })
  interruptId!: string | null;

  @Field(() => String, {
    description: 'What is asked; else what the thread is called now, or the workflow. May be empty.',
  })
  title!: string;

  @Field(() => DateTime, { nullable: true, description: 'When it was read; null: not yet.' })
  readAt!: number | null;
}

/** A page of notifications. */
export const NotificationConnection = connectionOf(NotificationModel, 'Notification');
