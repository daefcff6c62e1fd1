import type { Hitl } from '../definition/node-fields.js';
import type { Question } from '../engine/node-executor.js';

type Options = NonNullable<Question['options']>;

/** The default options of an approval. */
export const YES_OR_NO: Options = [
  { id: 'approve', label: 'Approve', action: 'approve' },
  { id: 'reject', label: 'Reject', action: 'reject' },
];

export function toOptions(options: NonNullable<Hitl['options']>): Options {
  return options.map(({ id, label, action }) => ({ id, label: label ?? id, action }));
}
