import { z } from 'zod';

import { type AppError, toStorableText } from '#platform';
import type { ClaimRef } from '#tools';

import { invalidToolClaim, invalidToolResult } from './client-tools.errors.js';

const word = z.string().min(1).max(256).overwrite(toStorableText);
export const claimBody = z.object({ callId: word, deviceId: word });
export const claimReference = z.object({ callId: word, claimToken: word });
export const resultBody = claimReference.extend({ result: z.string().nullish(), error: z.string().nullish() });

/** Which call, for which device. Throws `bad_request`. */
export function toClaim(body: unknown): z.infer<typeof claimBody> {
  return parse(claimBody, body, invalidToolClaim);
}

/** Which call, by which claim. Throws `bad_request`. */
export function toClaimRef(body: unknown): ClaimRef {
  return parse(claimReference, body, invalidToolClaim);
}

/** What became of a call; that it is exactly one of the two is the service's to say. Throws `bad_request`. */
export function toResult(body: unknown): ClaimRef & { readonly result: string | null; readonly error: string | null } {
  const { callId, claimToken, result: text = null, error = null } = parse(resultBody, body, invalidToolResult);
  return { callId, claimToken, result: text, error };
}

function parse<T>(shape: z.ZodType<T>, body: unknown, refuse: () => AppError): T {
  const parsed = shape.safeParse(body);
  if (!parsed.success) throw refuse();
  return parsed.data;
}
