import { z } from 'zod';

import { toStorableText } from '#platform';
import { named, refusedWith } from '#platform/api';

import type { Claim } from '../../client-tools/client-tools.service.js';
import { invalidToolClaim, invalidToolResult } from './client-tools.errors.js';

const word = z.string().min(1).max(256).overwrite(toStorableText);
/** The body of a claim: the call to claim, and the device that claims it. */
export const claimBody = refusedWith(
  named(
    'ToolClaim',
    z.object({ callId: word, deviceId: word }).meta({ example: { callId: 'call_1', deviceId: 'my-browser' } }),
  ),
  invalidToolClaim,
);
/** An example. */
const claimed = { callId: 'call_1', claimToken: 'the-claimToken-of-the-claim' };
const reference = z.object({ callId: word, claimToken: word });

/** The body of a validation: the call, and the claim on it. */
export const claimReference = refusedWith(
  named('ToolClaimReference', reference.meta({ example: claimed })),
  invalidToolClaim,
);
/** The body of a result: the outcome of a call. The service checks that the body has exactly one of `result` and `error`. */
export const resultBody = refusedWith(
  named(
    'ToolResult',
    reference
      .extend({ result: z.string().nullish(), error: z.string().nullish() })
      .meta({ example: { ...claimed, result: 'sunny, 21 °C' } }),
  ),
  invalidToolResult,
);

export type ClaimBody = z.infer<typeof claimBody>;
export type ResultBody = z.infer<typeof resultBody>;

const instant = z.number().meta({ description: 'Ms since the epoch.' });

const claim: z.ZodType<Claim> = z.object({
  claimToken: z.string().meta({ description: 'Returned only once.' }),
  call: z.object({
    id: z.string(),
    name: z.string(),
    arguments: z.string(),
    definition: z.object({
      type: z.literal('function'),
      function: z.object({
        name: z.string(),
        description: z.string().exactOptional(),
        parameters: z.record(z.string(), z.unknown()).exactOptional(),
        strict: z.boolean().exactOptional(),
      }),
    }),
  }),
  context: z.object({ workspaceId: z.string(), threadId: z.string().nullable(), messageId: z.string().nullable() }),
  expiresAt: instant,
});

/** The responses of the routes of client tools. */
export const clientToolReplies = {
  capability: named('ClientToolCapability', z.object({ available: z.boolean() })),
  claim: named('GrantedClaim', claim),
  validated: named('ValidatedClaim', z.object({ valid: z.literal(true), expiresAt: instant })),
  accepted: named('AcceptedResult', z.object({ accepted: z.literal(true) })),
} as const;
