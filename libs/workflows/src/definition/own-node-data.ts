import { z } from 'zod';

import { LIMITS } from './limits.js';
import { baseFields, defaultAction, jsonObject, options, timerMs, waitMs } from './node-fields.js';

/** Nodes that the format does not have: other engines do not know them. */

const timeoutText = 'Ms; 0 or without it 7 days';
const defaultText = 'The answer that is used after the timeout; without it the run follows the `timeout` edges';

/** A person approves or rejects; the input is passed on. */
const approval = z.object({
  ...baseFields,
  prompt: z.string().min(1).describe('What the person reads'),
  options: options.describe('Answers to choose from; without them yes and no'),
  inputSchema: jsonObject
    .optional()
    .describe('A JSON Schema of what the answer may bring along, which replaces the input'),
  timeout: waitMs.optional().describe(timeoutText),
  defaultAction: defaultAction.optional().describe(defaultText),
  decidableBy: z
    .enum(['members', 'requester', 'approvers'])
    .optional()
    .describe('Who may answer; without it the requester of the job (`requester`)'),
  fourEyes: z.boolean().optional().describe('Whether the requester must not answer'),
});

/** A person fills in a form; its JSON is the output. */
const input = z.object({
  ...baseFields,
  prompt: z.string().min(1).describe('What the person reads'),
  schema: jsonObject.describe('A JSON Schema: the form'),
  timeout: waitMs.optional().describe(timeoutText),
  defaultAction: defaultAction.optional().describe(defaultText),
});

/** Lets time pass, or waits for an event. */
const wait = z.object({
  ...baseFields,
  durationMs: waitMs.optional().describe('How long. This, `until` or `event`'),
  until: z.string().min(1).optional().describe('An instant (ISO 8601), or a template that gives one'),
  event: z.string().min(1).max(LIMITS.idLength).optional().describe('The name of an event; may be a template'),
  timeout: waitMs.optional().describe(`For an event. ${timeoutText}`),
});

const http = z.object({
  ...baseFields,
  method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']).default('GET').describe('Of the request'),
  url: z.string().min(1).describe('An address of a host that the workspace allows; a template'),
  headers: jsonObject.prefault({}).describe('Texts by name; templates'),
  body: z.unknown().optional().describe('A text as it is, anything else as JSON; texts in it are templates'),
  timeout: timerMs.optional().describe('Ms of one attempt; without it 30,000'),
  select: z.string().min(1).optional().describe('A JSONPath: the part of the response that becomes the output'),
});

const transform = z.object({
  ...baseFields,
  expression: z.string().min(1).describe('CEL; its value is the output'),
});

/** Its body is run once for each item of a list. */
const map = z.object({
  ...baseFields,
  items: z
    .string()
    .min(1)
    .optional()
    .describe('CEL, or a template, that gives a list; without it the input is a JSON list'),
  maxConcurrency: z.number().int().min(1).max(LIMITS.mapItemsAtOnce).default(5).describe('Items at once'),
  onItemError: z
    .enum(['stop', 'continue'])
    .default('stop')
    .describe('An item that fails: the node fails, or the output has an empty text for it'),
});

export const ownNodes = { approval, input, wait, http, transform, map } as const;
