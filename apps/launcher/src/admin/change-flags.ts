import { z } from 'zod';

import { type FeatureFlag, OperatorFlags, ROLLOUT_UNITS } from '#auth';

const ids = z.array(z.string());
const changes = z.strictObject({
  name: z.string(),
  description: z.string().optional(),
  defaultOn: z.boolean().optional(),
  rolloutPercent: z.number().optional(),
  rolloutBy: z.enum(ROLLOUT_UNITS).optional(),
  ...{ allow: ids, deny: ids, unlist: ids },
});

/** What `nightshift admin flags` asks for. */
export const flagRequests = [
  z.strictObject({ command: z.literal('flags list') }),
  z.strictObject({ command: z.literal('flags set'), changes }),
  z.strictObject({ command: z.literal('flags remove'), name: z.string() }),
  z.strictObject({ command: z.literal('flags history'), name: z.string() }),
] as const;

type FlagRequest = z.infer<(typeof flagRequests)[number]>;

/** Serves one command. Throws the errors of `OperatorFlags`. */
export async function changeFlags(request: FlagRequest, ownerUrl: string): Promise<unknown> {
  const flags = OperatorFlags.connect(ownerUrl);
  try {
    return await perform(request, flags);
  } finally {
    await flags.close();
  }
}

async function perform(request: FlagRequest, flags: OperatorFlags): Promise<unknown> {
  switch (request.command) {
    case 'flags list':
      return (await flags.list()).map(shown);
    case 'flags set':
      return shown(await flags.set(request.changes));
    case 'flags remove':
      return flags.remove(request.name);
    case 'flags history': {
      const entries = await flags.history(request.name);
      return entries.map(({ at, ...change }) => ({ ...change, at: new Date(at).toISOString() }));
    }
  }
}

function shown({ defaultOn, ...flag }: FeatureFlag): object {
  return { ...flag, default: defaultOn ? 'on' : 'off' };
}
