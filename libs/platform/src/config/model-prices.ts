import { z } from 'zod';

/** The price of a model, in USD per million tokens. */
export interface ModelPrice {
  /** The name of the model, or a glob of names. */
  readonly model: string;
  readonly promptUsd: number;
  readonly completionUsd: number;
}

const table = z.record(z.string().min(1), z.tuple([z.number().min(0), z.number().min(0)]));

/** The setting as text: a JSON object. */
export const modelPrices = z
  .string()
  .refine((text) => read(text).success)
  .optional()
  .meta({
    allowed: 'JSON such as {"openai/gpt-4o-mini":[0.15,0.6],"local/*":[0,0]}',
    description: 'USD per million prompt and completion tokens, by name or glob of the model. `maxCostUsd` uses it.',
  });

/** The parsed setting, in its own order: the first matching name counts. */
export function toModelPrices(text: string | undefined): readonly ModelPrice[] {
  const { data = {} } = read(text ?? '{}');
  return Object.entries(data).map(([model, [promptUsd, completionUsd]]) => ({ model, promptUsd, completionUsd }));
}

function read(text: string) {
  try {
    return table.safeParse(JSON.parse(text));
  } catch {
    return table.safeParse(undefined);
  }
}
