import { pause } from './back-off.js';
import { handlerOf } from './client-tool.js';
import { asking, type Connection } from './connection.js';
import {
  ClaimClientToolDocument,
  type ClaimClientToolMutation,
  SubmitClientToolResultDocument,
  ValidateClientToolDocument,
} from './generated/graphql.js';
import { NightshiftError } from './nightshift-error.js';
import type { OfferedRequest, ServeOptions } from './serve-options.js';
import { assertTaken } from './to-failure.js';

type Claim = NonNullable<ClaimClientToolMutation['claimClientTool']['claim']>;

/** Refusals after which the call may still become ours. */
const mayLapse = new Set(['already_claimed', 'claim_changed', 'claim_lost']);
/** Refusals that say the call is none of ours, which is how most races end. */
const isLost = new Set(['other_device', 'not_pending', 'not_found']);

/**
 * Claims a call, runs its tool and hands in what became of it. Of many clients one wins; the others stay by until the call is
 * settled, for the case that the winner is lost before it has begun.
 */
export async function serveClientTool(
  connection: Connection,
  call: OfferedRequest,
  options: ServeOptions,
): Promise<void> {
  const { tool, deviceId } = call.request;
  const isOurs = typeof tool === 'string' && handlerOf(options.tools ?? {}, tool) !== undefined;
  if (!isOurs || (typeof deviceId === 'string' && deviceId !== connection.deviceId)) return;
  while (!call.signal.aborted) {
    try {
      const claim = await claimCall(connection, call);
      await runClaimed(connection, { call, claim }, options);
      return;
    } catch (error) {
      if (isAborted(call)) return;
      if (!(error instanceof NightshiftError)) throw error;
      if (isLost.has(error.code)) return;
      // A claim whose reply was lost has lapsed after a while, too.
      if (!mayLapse.has(error.code) && !error.retryable) throw error;
      await pause(connection.claimMs * (0.5 + Math.random()), call.signal).catch(() => undefined);
    }
  }
}

async function claimCall({ http, deviceId }: Connection, { jobId, callId, signal }: OfferedRequest): Promise<Claim> {
  const input = { jobId, callId: callId ?? '', deviceId };
  const { claimClientTool } = await http.execute(ClaimClientToolDocument, { input }, { signal, retry: 'never' });
  assertTaken(claimClientTool);
  if (claimClientTool.claim === null)
    throw new NightshiftError('The response contains no claim', { code: 'bad_response' });
  return claimClientTool.claim;
}

interface Claimed {
  readonly call: OfferedRequest;
  readonly claim: Claim;
}

async function runClaimed(connection: Connection, { call, claim }: Claimed, options: ServeOptions): Promise<void> {
  const { http } = connection;
  const { jobId, signal } = call;
  const { callId, claimToken } = claim;
  const asked = { input: { jobId, callId, claimToken } };
  const { validateClientTool } = await http.execute(ValidateClientToolDocument, asked, { signal, retry: 'briefly' });
  assertTaken(validateClientTool);
  if (validateClientTool.valid !== true)
    throw new NightshiftError('The call is not to be run', { code: 'claim_changed' });
  const outcome = await runTool({ call, claim }, options);
  const input = { jobId, callId, claimToken, ...outcome };
  // The tool has run: its outcome is submitted even after serving has ended, until the server accepts it or it is too late.
  const timeout = asking(connection, undefined, 'patiently');
  const { submitClientToolResult } = await http.execute(SubmitClientToolResultDocument, { input }, timeout);
  assertTaken(submitClientToolResult);
}

async function runTool({ call, claim }: Claimed, options: ServeOptions) {
  const { jobId, signal } = call;
  const { callId, name } = claim;
  try {
    const run = handlerOf(options.tools ?? {}, name);
    if (run === undefined) throw new Error(`This client has no tool "${name}"`);
    const given: unknown = JSON.parse(claim.arguments === '' ? '{}' : claim.arguments);
    const result: unknown = await run(given as Record<string, unknown>, { jobId, callId, name, signal }); // it fits its schema
    // A tool that returns nothing yields `null`.
    return { result: typeof result === 'string' ? result : JSON.stringify(result ?? null) };
  } catch (error) {
    options.onError?.(error, call);
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

function isAborted({ signal }: OfferedRequest): boolean {
  return signal.aborted;
}
