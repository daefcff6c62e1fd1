import { Field, ID, InputType, Int, ObjectType } from '@nestjs/graphql';

import { connectionOf, DateTime, defineEnum, Json, payloadOf } from '#platform/api';

import type { DeliveryStatus } from '../outbound/delivery.js';
import type { WebhookEndpoint, WebhookEvent } from '../outbound/webhook-endpoint.js';
import type { SignatureStyle } from '../signature.js';

/** Names of events in GraphQL, which has no dots in enum values. */
export const WebhookEventEnum = defineEnum(
  'WebhookEvent',
  'An event that is sent to webhook endpoints. The `type` of a body is its name in lower case with a dot, such as `job.completed`.',
  {
    JOB_COMPLETED: ['job.completed', 'A job completed.'],
    JOB_FAILED: ['job.failed', 'A job failed.'],
    JOB_CANCELLED: ['job.cancelled', 'A job was cancelled.'],
    JOB_WAITING: ['job.waiting', 'A job waits for a person or a client.'],
    INTERRUPT_OPENED: ['interrupt.opened', 'A job opened a request to a person or a client.'],
    INTERRUPT_RESOLVED: ['interrupt.resolved', 'A request was decided or cancelled.'],
    INTERRUPT_EXPIRED: ['interrupt.expired', 'A request expired.'],
    TOOL_CALL_FAILED: ['tool_call.failed', 'A tool call ended with an error.'],
    NODE_FINISHED: ['node.finished', 'A node of a workflow ended.'],
    ENDPOINT_DISABLED: ['endpoint.disabled', 'The server disabled another endpoint of the workspace.'],
  },
);

/** How webhooks are signed. */
export const WebhookSignatureEnum = defineEnum('WebhookSignature', 'The headers that sign a webhook.', {
  STANDARD: ['standard', 'Standard Webhooks: `webhook-id`, `webhook-timestamp`, `webhook-signature`.'],
  SYNTRIX: ['syntrix', '`X-Syntrix-Signature` and `X-Nightshift-Delivery`.'],
  BOTH: ['both', 'The headers of `STANDARD` and of `SYNTRIX`.'],
});

/** The status of a delivery. */
export const WebhookDeliveryStatusEnum = defineEnum('WebhookDeliveryStatus', 'The status of a delivery.', {
  PENDING: ['pending', 'An attempt is running or is scheduled.'],
  DELIVERED: ['delivered', 'The receiver responded with a 2xx status.'],
  DEAD: ['dead', 'A dead letter: it is sent again only by `redeliverWebhook` or `redeliverDeadWebhooks`.'],
});

/** Why the server disabled an endpoint. */
export const WebhookDisabledEnum = defineEnum('WebhookDisabledReason', 'Why the server disabled an endpoint.', {
  GONE: ['gone', 'The URL responded with status 410.'],
  FAILING: ['failing', 'No delivery succeeded for 5 days, and at least 10 became dead letters.'],
});

@ObjectType('WebhookEndpoint', { description: 'A URL to which the server sends events of the workspace.' })
export class WebhookEndpointModel implements Omit<WebhookEndpoint, 'headers'> {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => String, { description: 'The URL.' })
  url!: string;

  @Field(() => String, { description: 'A description for people.' })
  description!: string;

  @Field(() => [WebhookEventEnum], { description: 'The events that it gets.' })
  events!: WebhookEvent[];

  @Field(() => Boolean, { description: 'Whether it gets events.' })
  enabled!: boolean;

  @Field(() => WebhookDisabledEnum, {
    nullable: true,
    description: 'Why the server disabled it. Null: the server did not disable it.',
  })
  disabledBecause!: 'gone' | 'failing' | null;

  @Field(() => WebhookSignatureEnum, { description: 'The headers that sign its webhooks.' })
  signature!: SignatureStyle;

  @Field(() => Json, { description: 'More headers of its requests: an object of texts.' })
  headers!: unknown;

  @Field(() => Boolean, { description: 'Whether `job.*` events are sent only for jobs that no viewer follows.' })
  onlyUnwatched!: boolean;

  @Field(() => Boolean, {
    description:
      'Whether bodies contain `data.content`: messages, arguments and results, if the body then has at most 20 KiB.',
  })
  includeContent!: boolean;

  @Field(() => DateTime, {
    nullable: true,
    description:
      'Until this time, requests are also signed with the secret before the last rotation. Null: it was never rotated. Secrets before that one sign for 24 hours after they were replaced.',
  })
  previousSecretUntil!: number | null;

  @Field(() => DateTime, {
    nullable: true,
    description: 'The time of the first failed attempt since the last success. Null: the last attempt succeeded.',
  })
  failingSince!: number | null;

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: number;

  @Field(() => DateTime, { description: 'When it was last changed.' })
  updatedAt!: number;
}

@ObjectType({ description: 'One attempt to send a webhook.' })
export class WebhookAttempt {
  @Field(() => DateTime, { description: 'When it began.' })
  at!: number;

  @Field(() => Int, { description: 'How long it took, in ms.' })
  durationMs!: number;

  @Field(() => Int, {
    nullable: true,
    description: 'The HTTP status. Null: there was no response.',
  })
  status!: number | null;

  @Field(() => String, {
    nullable: true,
    description: 'The code of the failure, such as `http_503` or `outbound_timeout`. Null: it succeeded.',
  })
  error!: string | null;

  @Field(() => String, {
    description: 'The first 1,024 bytes of the response. Known secrets are replaced by `[redacted]`.',
  })
  excerpt!: string;
}

@ObjectType('WebhookDelivery', {
  description: 'A request to a webhook endpoint or to the URL of a trigger.',
})
export class WebhookDeliveryModel {
  @Field(() => ID, { description: 'Its id, which its requests contain as `webhook-id` or `X-Nightshift-Delivery`.' })
  id!: string;

  @Field(() => ID, {
    nullable: true,
    description: 'The endpoint that receives it. Null: it is a delivery of a trigger.',
  })
  endpointId!: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'The `triggerId` of the trigger that sends it. Null: it is an event for an endpoint.',
  })
  triggerId!: string | null;

  @Field(() => String, {
    description: 'The event, such as `job.completed`; of a trigger, `create`, `update` or `delete`.',
  })
  type!: string;

  @Field(() => ID, { nullable: true, description: 'The job that the event is about.' })
  jobId!: string | null;

  @Field(() => WebhookDeliveryStatusEnum, { description: 'Its status.' })
  status!: DeliveryStatus;

  @Field(() => Int, { description: 'The number of attempts since it was created or last sent again.' })
  attempts!: number;

  @Field(() => String, {
    nullable: true,
    description: 'Why it is a dead letter, such as `http_404`, `blocked_address` or `endpoint_disabled`.',
  })
  reason!: string | null;

  @Field(() => String, { description: 'The body of its requests.' })
  body!: string;

  @Field(() => [WebhookAttempt], { name: 'attemptLog', description: 'The last 20 attempts, oldest first.' })
  log!: WebhookAttempt[];

  @Field(() => DateTime, { nullable: true, description: 'The time of the next attempt. Null: it is not pending.' })
  nextAt!: number | null;

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: number;

  @Field(() => DateTime, { nullable: true, description: 'When it was delivered or became a dead letter.' })
  finishedAt!: number | null;
}

export const WebhookDeliveryConnection = connectionOf(WebhookDeliveryModel, 'WebhookDelivery');

@InputType({ description: 'Selects deliveries. An absent field matches all.' })
export class WebhookDeliveryFilter {
  @Field(() => ID, { nullable: true, description: 'Only deliveries to this endpoint.' })
  endpointId?: string | null;

  @Field(() => String, { nullable: true, description: 'Only deliveries of triggers with this `triggerId`.' })
  triggerId?: string | null;

  @Field(() => String, { nullable: true, description: 'Only deliveries of triggers of this database.' })
  database?: string | null;

  @Field(() => ID, { nullable: true, description: 'Only deliveries about this job.' })
  jobId?: string | null;

  @Field(() => WebhookDeliveryStatusEnum, { nullable: true, description: 'Only deliveries with this status.' })
  status?: DeliveryStatus | null;

  @Field(() => DateTime, { nullable: true, description: 'Only deliveries created at this time or later.' })
  from?: number | null;

  @Field(() => DateTime, { nullable: true, description: 'Only deliveries created before this time.' })
  to?: number | null;
}

const secretForms =
  '`whsec_` and the base64 form of 24 to 64 bytes; with the signature SYNTRIX, a string of 24 to 75 ASCII characters without spaces.';

@InputType({ description: 'A webhook endpoint to save.' })
export class SaveWebhookEndpointInput {
  @Field(() => ID, { nullable: true, description: 'The endpoint to replace. Absent: the mutation creates one.' })
  id?: string | null;

  @Field(() => String, {
    description:
      'The URL. It must begin with https://, resolve to a public address and use port 80, 443, 8080 or 8443, unless the operator allows `http://`, private ranges or other ports.',
  })
  url!: string;

  @Field(() => String, { defaultValue: '', description: 'A description for people, at most 500 characters.' })
  description!: string;

  @Field(() => [WebhookEventEnum], { description: 'The events that it gets.' })
  events!: WebhookEvent[];

  @Field(() => Boolean, { defaultValue: true, description: 'Whether it gets events.' })
  enabled!: boolean;

  @Field(() => WebhookSignatureEnum, { defaultValue: 'standard', description: 'The headers that sign its webhooks.' })
  signature!: SignatureStyle;

  @Field(() => Json, {
    nullable: true,
    description: 'More headers of its requests: an object of at most 20 texts.',
  })
  headers?: unknown;

  @Field(() => Boolean, {
    defaultValue: false,
    description: 'Whether `job.*` events are sent only for jobs that no viewer follows.',
  })
  onlyUnwatched!: boolean;

  @Field(() => Boolean, {
    defaultValue: false,
    description:
      'Whether bodies contain `data.content`: messages, arguments and results, if the body then has at most 20 KiB.',
  })
  includeContent!: boolean;

  @Field(() => String, {
    nullable: true,
    description: `The secret of a new endpoint: ${secretForms} Absent: the server creates one. No response contains it.`,
  })
  secret?: string | null;
}

@InputType({ description: 'The webhook endpoint.' })
export class WebhookEndpointInput {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;
}

@InputType({ description: 'The webhook endpoint whose secret is replaced.' })
export class RotateWebhookSecretInput extends WebhookEndpointInput {
  @Field(() => String, {
    nullable: true,
    description: `The new secret: ${secretForms} Absent: the server creates one. No response contains it.`,
  })
  secret?: string | null;
}

@InputType({ description: 'A webhook endpoint to enable or disable.' })
export class SetWebhookEndpointEnabledInput extends WebhookEndpointInput {
  @Field(() => Boolean, { description: 'Whether it gets events from now on.' })
  enabled!: boolean;
}

@InputType({ description: 'The delivery to send again.' })
export class RedeliverWebhookInput {
  @Field(() => ID, { description: 'The delivery. It must not be pending.' })
  id!: string;
}

@InputType({ description: 'Selects the dead letters to send again. An absent field matches all.' })
export class RedeliverDeadWebhooksInput {
  @Field(() => ID, { nullable: true, description: 'Only deliveries to this endpoint.' })
  endpointId?: string | null;

  @Field(() => String, { nullable: true, description: 'Only deliveries of triggers with this `triggerId`.' })
  triggerId?: string | null;

  @Field(() => String, { nullable: true, description: 'Only deliveries of triggers of this database.' })
  database?: string | null;

  @Field(() => DateTime, { nullable: true, description: 'Only deliveries created at this time or later.' })
  from?: number | null;

  @Field(() => DateTime, { nullable: true, description: 'Only deliveries created before this time.' })
  to?: number | null;
}

export const WebhookEndpointPayload = payloadOf({
  name: 'WebhookEndpointPayload',
  description: 'The endpoint after the change (before it, if removed), or why nothing changed.',
  fields: {
    endpoint: [WebhookEndpointModel, 'The endpoint.'],
    secret: [
      String,
      'The new secret, which is shown only once. Null: the secret did not change, or the input contains it.',
    ],
  },
});

export const TestWebhookEndpointPayload = payloadOf({
  name: 'TestWebhookEndpointPayload',
  description: 'The delivery of the test event, or the reasons why it was not created.',
  fields: {
    delivery: [WebhookDeliveryModel, 'The delivery, which is pending. Query `webhookDeliveries` for its result.'],
  },
});

export const RedeliverWebhooksPayload = payloadOf({
  name: 'RedeliverWebhooksPayload',
  description: 'The number of deliveries that are sent again, or the reasons why there are none.',
  fields: { count: [Int, 'The number of deliveries, at most 500. Repeat `redeliverDeadWebhooks` until it is 0.'] },
});
