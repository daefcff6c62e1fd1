import type { OutboundAnswer } from '#platform';

type Content = Pick<OutboundAnswer, 'headers' | 'body'>;

/** The media type without parameters, in lower case; empty when the server names none. */
export function mediaTypeOf({ headers }: Pick<OutboundAnswer, 'headers'>): string {
  return (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/** Whether an answer is text: by its type, or, without one, because it holds no NUL at its beginning. */
export function isText(answer: Content): boolean {
  const type = mediaTypeOf(answer);
  if (type === '') return !answer.body.subarray(0, 1_024).includes(0);
  return /^text\/|[/+](?:json|xml|yaml|javascript|graphql|x-www-form-urlencoded|x-ndjson|ndjson|jsonl)$/.test(type);
}

/**
 * The text of a body by the charset it names, in its type or (HTML) in itself; UTF-8 where it names none that is known. Half a
 * character at the end of a body that was cut is left out.
 */
export function decodeText(answer: Content & Pick<OutboundAnswer, 'isCut'>): string {
  const head = Buffer.from(answer.body.subarray(0, 1_024)).toString('latin1');
  const named = /charset=["']?([\w-]{1,40})/i.exec(answer.headers['content-type'] ?? '')?.[1];
  const inside =
    mediaTypeOf(answer) === 'text/html' ? /<meta[^>]{0,200}charset=["']?([\w-]{1,40})/i.exec(head)?.[1] : undefined;
  const label = named ?? inside ?? 'utf-8';
  return decode(answer, label) ?? decode(answer, 'utf-8') ?? '';
}

/** Null: no such charset. */
function decode({ body, isCut }: Pick<OutboundAnswer, 'body' | 'isCut'>, charset: string): string | null {
  try {
    return new TextDecoder(charset).decode(body, { stream: isCut });
  } catch {
    return null;
  }
}
