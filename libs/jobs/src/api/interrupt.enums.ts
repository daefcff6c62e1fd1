import { registerEnumType } from '@nestjs/graphql';

import type { DecidableBy, InterruptKind, InterruptStatus } from '../interrupt.js';

/** GraphQL's names of what a job can wait for. */
export const InterruptKindEnum = {
  TOOL_APPROVAL: 'tool_approval',
  CLIENT_TOOL: 'client_tool',
  HUMAN_INPUT: 'human_input',
  UNKNOWN_OUTCOME: 'unknown_outcome',
  WAIT: 'wait',
  PROVIDER_UNAVAILABLE: 'provider_unavailable',
  PLUGIN_MISSING: 'plugin_missing',
} as const satisfies Record<Uppercase<InterruptKind>, InterruptKind>;

registerEnumType(InterruptKindEnum, {
  name: 'InterruptKind',
  description: 'What a job can wait for from outside. The list may grow.',
  valuesMap: {
    TOOL_APPROVAL: { description: 'A person has to allow a tool call.' },
    CLIENT_TOOL: { description: 'A client has to run a tool call.' },
    HUMAN_INPUT: { description: 'A person has to answer a question.' },
    UNKNOWN_OUTCOME: { description: 'A tool call started and its outcome is unknown. A person has to decide.' },
    WAIT: { description: 'A workflow node waits for a time or an event. No person has to decide.' },
    PROVIDER_UNAVAILABLE: {
      description:
        'The model provider cannot be used. The job asks it again when the request expires, or after a decision.',
    },
    PLUGIN_MISSING: {
      description:
        'No plugin of the worker defines the type of a workflow node. The job looks again when the request expires, or after a decision.',
    },
  },
});

/** GraphQL's names of where a request stands. */
export const InterruptStatusEnum = {
  OPEN: 'open',
  RESOLVED: 'resolved',
  EXPIRED: 'expired',
  CANCELLED: 'cancelled',
} as const satisfies Record<Uppercase<InterruptStatus>, InterruptStatus>;

registerEnumType(InterruptStatusEnum, {
  name: 'InterruptStatus',
  description: 'The status of a request. All but OPEN are final.',
  valuesMap: {
    OPEN: { description: 'It waits for a decision.' },
    RESOLVED: { description: 'It was decided.' },
    EXPIRED: { description: 'No decision was made in time.' },
    CANCELLED: { description: 'The job was cancelled before a decision.' },
  },
});

/** GraphQL's names of who may decide. */
export const DecidableByEnum = {
  REQUESTER: 'requester',
  APPROVERS: 'approvers',
  MEMBERS: 'members',
} as const satisfies Record<Uppercase<DecidableBy>, DecidableBy>;

registerEnumType(DecidableByEnum, {
  name: 'DecidableBy',
  description: 'Who may decide a request.',
  valuesMap: {
    REQUESTER: { description: 'The person who started the job, or the approvers if no person did.' },
    APPROVERS: { description: 'Members with the right to approve.' },
    MEMBERS: { description: 'Members who may change the job.' },
  },
});

/** GraphQL's words for a decision. */
export const InterruptDecisionEnum = {
  APPROVE: 'approve',
  DENY: 'deny',
  HAPPENED: 'happened',
  DID_NOT_HAPPEN: 'did_not_happen',
  REPEAT: 'repeat',
  REPORT: 'report',
  RETRY: 'retry',
  GIVE_UP: 'give_up',
} as const;

registerEnumType(InterruptDecisionEnum, {
  name: 'InterruptDecision',
  description:
    'The decision: APPROVE or DENY for a TOOL_APPROVAL, RETRY or GIVE_UP for a PROVIDER_UNAVAILABLE or PLUGIN_MISSING, the others for an UNKNOWN_OUTCOME.',
  valuesMap: {
    APPROVE: { description: 'The call runs, with the arguments that were shown or with edited ones.' },
    DENY: { description: 'The call does not run. The model reads the denial.' },
    HAPPENED: { description: 'The call did run, with this `result`.' },
    DID_NOT_HAPPEN: { description: 'The call did not run. The job continues without its result.' },
    REPEAT: { description: 'The call is repeated with the same idempotency key.' },
    REPORT: { description: 'The model reads that the outcome is unknown.' },
    RETRY: { description: 'The job asks the model provider, or looks for the plugin, again now.' },
    GIVE_UP: { description: 'The job fails with the last error of the provider; the node fails without its plugin.' },
  },
});
