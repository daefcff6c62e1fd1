import { z } from 'zod';

import { toStorableText } from '#platform';
import { named, refusedWith } from '#platform/api';

import type { Claim } from '../../client-tools/client-tools.service.js';
import { invalidToolClaim, invalidToolResult } from './client-tools.errors.js';

const word = z.string().min(1).max(256).overwrite(toStorableText);
/** Which call, for which device. */
export const claimBody = refusedWith(named('ToolClaim', z.object({ callId: word, deviceId: word })), invalidToolClaim);
const reference = z.object({ callId: word, claimToken: word });

/** Which call, by which claim. */
export const claimReference = refusedWith(named('ToolClaimReference', reference), invalidToolClaim);
/** The outcome of a call; that it is exactly one of the two is checked by the service. */
export const resultBody = refusedWith(
  named('ToolResult', reference.extend({ result: z.string().nullish(), error: z.string().nullish() })),
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

/** What the routes of client tools answer. */
export const clientToolReplies = {
  capability: named('ClientToolCapability', z.object({ available: z.boolean() })),
  claim: named('GrantedClaim', claim),
  validated: named('ValidatedClaim', z.object({ valid: z.literal(true), expiresAt: instant })),
  accepted: named('AcceptedResult', z.object({ accepted: z.literal(true) })),
} as const;
