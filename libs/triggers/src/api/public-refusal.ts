import type { Response } from 'express';

import { AppError, type Logger } from '#platform';
import { noteRefusal } from '#platform/api';

/** A reply of an endpoint whose senders have a signature instead of a credential: a status and a word, and no details. */
export interface PublicReply {
  readonly status: number;
  readonly text: string;
  readonly retryAfterSeconds?: number;
  /** Why the request is refused. Only the log of the operator shows it. */
  readonly reason?: string;
}

const refusals: Readonly<Record<string, PublicReply>> = {
  bad_request: { status: 400, text: 'Invalid payload' },
  not_storable: { status: 400, text: 'Invalid payload' },
  body_timeout: { status: 408, text: 'Request Timeout' },
  too_large: { status: 413, text: 'Payload Too Large' },
  unsupported_media_type: { status: 415, text: 'Unsupported Media Type' },
  rate_limited: { status: 429, text: 'Too Many Requests', retryAfterSeconds: 1 },
  unavailable: { status: 503, text: 'Service Unavailable', retryAfterSeconds: 1 },
};

/** Sends the reply of `receive`, or the one of what it throws; an unexpected error is logged. */
export async function replyInPublic(
  response: Response,
  { logger, target }: { readonly logger: Logger; readonly target: string },
  receive: () => Promise<PublicReply>,
): Promise<void> {
  const { status, text, retryAfterSeconds, reason } = await receive().catch((error: unknown) =>
    refusalOf(error, logger, target),
  );
  if (response.destroyed || response.headersSent) return;
  if (reason !== undefined) noteRefusal(response, reason);
  if (retryAfterSeconds !== undefined) response.setHeader('Retry-After', String(retryAfterSeconds));
  response.status(status).type('text/plain').send(text);
}

function refusalOf(error: unknown, logger: Logger, target: string): PublicReply {
  const known = error instanceof AppError ? refusals[error.code] : undefined;
  if (known !== undefined && error instanceof AppError)
    return error.retryAfterSeconds === undefined ? known : { ...known, retryAfterSeconds: error.retryAfterSeconds };
  logger.error({ err: error, target }, 'a signed request was not accepted');
  return { status: 500, text: 'Internal Server Error' };
}
