import { registerEnumType } from '@nestjs/graphql';

import type { DecidableBy, InterruptKind, InterruptStatus } from '#jobs';
import type { HumanInputAction } from '#tools';

/** GraphQL's names of what a job can wait for. */
export const InterruptKindEnum = {
  TOOL_APPROVAL: 'tool_approval',
  CLIENT_TOOL: 'client_tool',
  HUMAN_INPUT: 'human_input',
  UNKNOWN_OUTCOME: 'unknown_outcome',
  WAIT: 'wait',
} as const satisfies Record<Uppercase<InterruptKind>, InterruptKind>;

registerEnumType(InterruptKindEnum, {
  name: 'InterruptKind',
  description: 'What a job can wait for from outside. The list may grow.',
  valuesMap: {
    TOOL_APPROVAL: { description: 'A person has to allow a tool call.' },
    CLIENT_TOOL: { description: 'A client has to run a tool call.' },
    HUMAN_INPUT: { description: 'A person has to answer a question.' },
    UNKNOWN_OUTCOME: { description: 'A tool call was started and nobody saw its end: a person has to say what is so.' },
    WAIT: { description: 'Nobody is asked: a node of a workflow waits for its time, or for an event.' },
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
  description: 'Where a request stands. All but OPEN are final.',
  valuesMap: {
    OPEN: { description: 'It waits for its answer.' },
    RESOLVED: { description: 'It was answered.' },
    EXPIRED: { description: 'Nobody answered in time.' },
    CANCELLED: { description: 'Its job was stopped first.' },
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
    REQUESTER: { description: 'The person who started the job; the approvers if nobody did.' },
    APPROVERS: { description: 'Whoever may approve in this workspace.' },
    MEMBERS: { description: 'Whoever may change the job.' },
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
} as const;

registerEnumType(InterruptDecisionEnum, {
  name: 'InterruptDecision',
  description: 'What is decided: APPROVE or DENY a TOOL_APPROVAL, the others for an UNKNOWN_OUTCOME.',
  valuesMap: {
    APPROVE: { description: 'The call runs, with the arguments that were shown or with edited ones.' },
    DENY: { description: 'The call does not run; the model is told.' },
    HAPPENED: { description: 'The call did run, with this `result`.' },
    DID_NOT_HAPPEN: { description: 'It did not; the job goes on without it.' },
    REPEAT: { description: 'It is called again, with the same idempotency key.' },
    REPORT: { description: 'The model is told that nobody knows.' },
  },
});

/** GraphQL's words for what is done with a question. */
export const InterruptActionEnum = {
  APPROVE: 'approve',
  REJECT: 'reject',
  SUBMIT: 'submit',
  MODIFY: 'modify',
  SKIP: 'skip',
  CUSTOM: 'custom',
} as const satisfies Record<Uppercase<HumanInputAction>, HumanInputAction>;

registerEnumType(InterruptActionEnum, {
  name: 'InterruptAction',
  description:
    'What is done with a HUMAN_INPUT request; `request.actions` says which of them are offered. SUBMIT delivers the event of a WAIT.',
  valuesMap: {
    APPROVE: { description: 'Goes on; `data`, if given, replaces the input.' },
    REJECT: { description: 'Refuses.' },
    SUBMIT: { description: 'Answers with `data`.' },
    MODIFY: { description: 'Goes on with `data` in place of what was shown; without `data` with what was shown.' },
    SKIP: { description: 'Passes the question over. Not taken where `request.dataRequired` is true.' },
    CUSTOM: { description: "One of the request's own options, in `data`." },
  },
});
