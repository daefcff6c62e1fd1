import { registerEnumType } from '@nestjs/graphql';

import type { NotificationType } from '../../notifications/notification.js';

/** GraphQL's names of the kinds of user notifications. */
export const NotificationTypeEnum = {
  JOB_COMPLETED: 'job_completed',
  JOB_FAILED: 'job_failed',
  INPUT_NEEDED: 'input_needed',
  ENDPOINT_DISABLED: 'endpoint_disabled',
} as const satisfies Record<Uppercase<NotificationType>, NotificationType>;

registerEnumType(NotificationTypeEnum, {
  name: 'NotificationType',
  description: 'The type of a notification. The list may grow.',
  valuesMap: {
    JOB_COMPLETED: { description: 'A job completed.' },
    JOB_FAILED: { description: 'A job failed.' },
    INPUT_NEEDED: { description: 'A job, or a sub-job of it, waits for a person.' },
    ENDPOINT_DISABLED: { description: 'The server disabled a webhook endpoint. For owners and admins.' },
  },
});
