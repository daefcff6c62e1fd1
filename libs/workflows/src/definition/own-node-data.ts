import { z } from 'zod';

import { LIMITS } from './limits.js';
import { baseFields, defaultAction, jsonObject, options, timerMs, waitMs } from './node-fields.js';

/** Nodes that the format does not have: other engines do not know them. */

/** A person says yes or no; the input goes on. */
const approval = z.object({
  ...baseFields,
  prompt: z.string().min(1),
  options,
  /** What the answer may bring along. */
  inputSchema: jsonObject.optional(),
  timeout: waitMs.optional(),
  /** Absent: the `timeout` edges are taken. */
  defaultAction: defaultAction.optional(),
  decidableBy: z.enum(['members', 'requester', 'approvers']).optional(),
  fourEyes: z.boolean().optional(),
});

/** A person fills in a form; its JSON is the output. */
const input = z.object({
  ...baseFields,
  prompt: z.string().min(1),
  schema: jsonObject,
  timeout: waitMs.optional(),
  /** Absent: the `timeout` edges are taken. */
  defaultAction: defaultAction.optional(),
});

/** Lets time pass, or waits for an event. */
const wait = z.object({
  ...baseFields,
  durationMs: waitMs.optional(),
  /** An instant (ISO 8601), or a template that gives one. */
  until: z.string().min(1).optional(),
  /** The name of the event; may be a template. */
  event: z.string().min(1).max(LIMITS.idLength).optional(),
  /** Of the event. */
  timeout: waitMs.optional(),
});

const http = z.object({
  ...baseFields,
  method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']).default('GET'),
  url: z.string().min(1),
  headers: jsonObject.prefault({}),
  /** A text as it is, anything else as JSON; texts in it are templates. */
  body: z.unknown().optional(),
  timeout: timerMs.optional(),
  /** A JSONPath: the part of the answer that is handed on. */
  select: z.string().min(1).optional(),
});

const transform = z.object({
  ...baseFields,
  /** CEL. */
  expression: z.string().min(1),
});

/** Its body is run once for each item of a list. */
const map = z.object({
  ...baseFields,
  /** CEL, or a template that gives a JSON list; absent: the input is one. */
  items: z.string().min(1).optional(),
  maxConcurrency: z.number().int().min(1).max(LIMITS.mapItemsAtOnce).default(5),
  onItemError: z.enum(['stop', 'continue']).default('stop'),
});

export const ownNodes = { approval, input, wait, http, transform, map } as const;
