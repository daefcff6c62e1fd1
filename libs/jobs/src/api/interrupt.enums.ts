import { defineEnum } from '#platform/api';

import type { DecidableBy, InterruptKind, InterruptStatus } from '../interrupt.js';

/** GraphQL names of the kinds of requests. */
export const InterruptKindEnum = defineEnum(
  'InterruptKind',
  'The kinds of requests that a job can wait for. The list may grow.',
  {
    TOOL_APPROVAL: ['tool_approval', 'A person has to allow a tool call.'],
    CLIENT_TOOL: ['client_tool', 'A client has to run a tool call.'],
    HUMAN_INPUT: ['human_input', 'A person has to answer a question.'],
    UNKNOWN_OUTCOME: ['unknown_outcome', 'A tool call started and its outcome is unknown. A person has to decide.'],
    WAIT: ['wait', 'A workflow node waits for a time or an event. No person has to decide.'],
    PROVIDER_UNAVAILABLE: [
      'provider_unavailable',
      'The model provider cannot be used. The job asks it again when the request expires, or after a decision.',
    ],
    PLUGIN_MISSING: [
      'plugin_missing',
      'No plugin of the worker defines the type of a workflow node. The job looks again when the request expires, or after a decision.',
    ],
  },
) satisfies Record<Uppercase<InterruptKind>, InterruptKind>;

/** GraphQL names of the statuses of requests. */
export const InterruptStatusEnum = defineEnum('InterruptStatus', 'The status of a request. All but OPEN are final.', {
  OPEN: ['open', 'It waits for a decision, a result, a time or an event.'],
  RESOLVED: ['resolved', 'A decision or a result settled it.'],
  EXPIRED: ['expired', 'Nothing settled it in time.'],
  CANCELLED: ['cancelled', 'Its job or node ended first.'],
}) satisfies Record<Uppercase<InterruptStatus>, InterruptStatus>;

/** GraphQL names of who may decide. */
export const DecidableByEnum = defineEnum('DecidableBy', 'Who may decide a request.', {
  REQUESTER: ['requester', 'The person who started the job, or the approvers if no person did.'],
  APPROVERS: ['approvers', 'Owners and admins.'],
  MEMBERS: ['members', 'The requester, owners and admins.'],
}) satisfies Record<Uppercase<DecidableBy>, DecidableBy>;

/** GraphQL names of decisions. */
export const InterruptDecisionEnum = defineEnum(
  'InterruptDecision',
  'The decision: APPROVE or DENY for a TOOL_APPROVAL, RETRY or GIVE_UP for a PROVIDER_UNAVAILABLE or PLUGIN_MISSING, the others for an UNKNOWN_OUTCOME.',
  {
    APPROVE: ['approve', 'The call runs, with the arguments that were shown or with edited ones.'],
    DENY: ['deny', 'The call does not run. The model reads the denial.'],
    HAPPENED: ['happened', 'The call did run, with this `result`.'],
    DID_NOT_HAPPEN: ['did_not_happen', 'The call did not run. The job continues without its result.'],
    REPEAT: ['repeat', 'The call is repeated with the same idempotency key.'],
    REPORT: ['report', 'The model reads that the outcome is unknown.'],
    RETRY: [
      'retry',
      'PROVIDER_UNAVAILABLE: the job calls the provider now. PLUGIN_MISSING: the job looks for the plugin now.',
    ],
    GIVE_UP: [
      'give_up',
      'PROVIDER_UNAVAILABLE: the job fails with the last error of the provider. PLUGIN_MISSING: the node fails.',
    ],
  },
);
