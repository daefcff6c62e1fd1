import { z } from 'zod';

const maxAtOnce = 100;
const blankIsAbsent = (value: unknown) => (value === '' ? undefined : value);

/** A query parameter that may be absent. `?name=` counts as absent; a repeated name is an error. */
export const optional = <T extends z.ZodType>(schema: T) => z.preprocess(blankIsAbsent, schema.optional()).optional();

/** The parameters `?limit` and `?after` of a list. */
export const pageQuery = {
  limit: z
    .preprocess(
      (value) =>
        value === '' ? undefined : typeof value === 'string' && /^[1-9]\d{0,2}$/.test(value) ? Number(value) : value,
      z.int().min(1).max(maxAtOnce).default(20),
    )
    .default(20)
    .meta({ description: 'Page size.' }),
  after: optional(z.string()).meta({ description: '`nextCursor` of the previous page.' }),
};
