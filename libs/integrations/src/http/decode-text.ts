import type { OutboundResponse } from '#platform';

type Content = Pick<OutboundResponse, 'headers' | 'body'>;

/** The media type without parameters, in lower case; empty if the server sends none. */
export function mediaTypeOf({ headers }: Pick<OutboundResponse, 'headers'>): string {
  return (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/** Whether a response is text: by its type, or, without a type, if its beginning contains no NUL. */
export function isText(answer: Content): boolean {
  const type = mediaTypeOf(answer);
  if (type === '') return !answer.body.subarray(0, 1_024).includes(0);
  return /^text\/|[/+](?:json|xml|yaml|javascript|graphql|x-www-form-urlencoded|x-ndjson|ndjson|jsonl)$/.test(type);
}

/**
 * Decodes a body by the charset in its content type or (HTML) in the document, or as UTF-8 if neither names a known charset. In a truncated
 * body, an incomplete last character is left out.
 */
export function decodeText(answer: Content & Pick<OutboundResponse, 'isCut'>): string {
  const head = Buffer.from(answer.body.subarray(0, 1_024)).toString('latin1');
  const named = /charset=["']?([\w-]{1,40})/i.exec(answer.headers['content-type'] ?? '')?.[1];
  const inside =
    mediaTypeOf(answer) === 'text/html' ? /<meta[^>]{0,200}charset=["']?([\w-]{1,40})/i.exec(head)?.[1] : undefined;
  const label = named ?? inside ?? 'utf-8';
  return decode(answer, label) ?? decode(answer, 'utf-8') ?? '';
}

/** Returns null for an unknown charset. */
function decode({ body, isCut }: Pick<OutboundResponse, 'body' | 'isCut'>, charset: string): string | null {
  try {
    return new TextDecoder(charset).decode(body, { stream: isCut });
  } catch {
    return null;
  }
}
