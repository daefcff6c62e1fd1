import type { Interrupt } from '@nightshift/client';

import { oneLine } from '../terminal/plain-text.js';

/** The fields that the `request` of an interrupt may have; docs/interrupts.md lists them by kind. */
export interface Asked {
  readonly reason: string | undefined;
  readonly preview: string | undefined;
  readonly isTruncated: boolean;
  readonly argumentsHash: string | undefined;
  readonly isApprovable: boolean;
  readonly allowsEdit: boolean;
  readonly prompt: string | undefined;
  readonly schema: unknown;
  /** Whether an answer must contain data. */
  readonly isDataRequired: boolean;
  /** The allowed actions, in upper case; empty: any. */
  readonly actions: readonly string[];
  /** The options of the question. */
  readonly options: readonly AskedOption[];
  /** The output that the question is about. */
  readonly output: string | undefined;
  /** For `wait`: the name of the event. */
  readonly event: string | undefined;
  /** The input of the node that opened the request. */
  readonly input: string | undefined;
}

/** One of a question's own answers, and what is done with it. */
export interface AskedOption {
  readonly id: string;
  readonly label: string;
  readonly action: 'APPROVE' | 'REJECT' | 'CUSTOM';
}

/** Reads the fields of a request. A field that is missing or has another type is absent. */
export function askedOf({ request }: Pick<Interrupt, 'request'>): Asked {
  const members: Readonly<Record<string, unknown>> = isObject(request) ? request : {};
  const text = (name: string) =>
    typeof members[name] === 'string' && members[name] !== '' ? members[name] : undefined;
  const { actions, context } = members;
  return {
    reason: text('reason'),
    preview: text('argumentsPreview'),
    isTruncated: members['argumentsTruncated'] === true,
    argumentsHash: text('argumentsHash'),
    isApprovable: members['approvable'] === true,
    allowsEdit: members['allowEdit'] === true,
    prompt: text('prompt'),
    event: text('event'),
    schema: members['inputSchema'],
    isDataRequired: members['dataRequired'] === true,
    actions: Array.isArray(actions) ? actions.map((action) => String(action).toUpperCase()) : [],
    options: Array.isArray(members['options']) ? members['options'].flatMap(optionOf) : [],
    output: isObject(context) && typeof context['output'] === 'string' ? context['output'] : undefined,
    input: isObject(context) && typeof context['input'] === 'string' ? context['input'] : undefined,
  };
}

function optionOf(value: unknown): AskedOption[] {
  if (!isObject(value) || typeof value['id'] !== 'string') return [];
  const { id, label, action } = value;
  const known = (['APPROVE', 'REJECT'] as const).find((word) => word === String(action).toUpperCase());
  return [{ id, label: oneLine(typeof label === 'string' ? label : id), action: known ?? 'CUSTOM' }];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
