import { defineEnum } from '#platform/api';

/** GraphQL names of the types of user notifications. */
export const NotificationTypeEnum = defineEnum('NotificationType', 'The type of a notification. The list may grow.', {
  JOB_COMPLETED: ['job_completed', 'A job completed.'],
  JOB_FAILED: ['job_failed', 'A job failed.'],
  INPUT_NEEDED: ['input_needed', 'A job, or a sub-job of it, waits for a person.'],
  ENDPOINT_DISABLED: ['endpoint_disabled', 'The server disabled a webhook endpoint. For owners and admins.'],
});
