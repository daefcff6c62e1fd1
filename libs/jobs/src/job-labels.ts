import { z } from 'zod';

import { AppError, readInput } from '#platform';

/** Texts by name that the starter of a job and hooks of its start have given it. */
export type JobLabels = Readonly<Record<string, string>>;

/** Those of `metadata` in OpenAI's API. */
const [mostLabels, longestName, longestValue] = [16, 64, 512];

/** What labels must be, wherever they come from. */
export const jobLabels = z
  .record(z.string(), z.string().max(longestValue))
  .refine((labels) => Object.keys(labels).length <= mostLabels, `must have at most ${mostLabels} labels`)
  .refine(
    (labels) => Object.keys(labels).every((name) => name.length >= 1 && name.length <= longestName),
    `must have names of 1 to ${longestName} characters`,
  );

/** Labels of a request. Null and undefined: none. Throws `bad_request` with the field, such as `labels.team`. */
export function toJobLabels(given: unknown): JobLabels {
  const read = readInput(jobLabels, given ?? {});
  if ('data' in read) return read.data;
  const { field, text } = read.problem;
  const name = ['labels', field].filter((part) => part !== '').join('.');
  throw new AppError({ code: 'bad_request', message: `${name} ${text}`, field: name });
}
