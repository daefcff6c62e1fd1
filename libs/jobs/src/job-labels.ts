import { z } from 'zod';

import { AppError, readInput, toStorable } from '#platform';

/** Key-value pairs, from the request that started the job and from hooks of `beforeJobStart`. */
export type JobLabels = Readonly<Record<string, string>>;

/** The limits of `metadata` in OpenAI's API. */
const [maxLabels, longestName, longestValue] = [16, 64, 512];

/** The schema of labels, both in requests and in the outcomes of hooks. */
export const jobLabels = z
  .record(z.string(), z.string().max(longestValue))
  .refine((labels) => Object.keys(labels).length <= maxLabels, `must have at most ${maxLabels} labels`)
  .refine(
    (labels) => Object.keys(labels).every((name) => name.length >= 1 && name.length <= longestName),
    `must have keys of 1 to ${longestName} characters`,
  );

/** Labels of a request. Null and undefined: none. Throws `bad_request` with the field, such as `labels.team`. */
export function toJobLabels(given: unknown): JobLabels {
  const read = readInput(jobLabels, toStorable(given ?? {}, 'labels'));
  if ('data' in read) return read.data;
  const { field, text } = read.problem;
  const name = ['labels', field].filter((part) => part !== '').join('.');
  throw new AppError({ code: 'bad_request', message: `${name} ${text}`, field: name });
}
